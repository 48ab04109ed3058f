"""The XML parser keeps positions and lines, and refuses what a robot description never needs."""

from pathlib import Path

import pytest

from steelyard.errors import DescriptionError
from steelyard.robot import xml
from steelyard.robot.xml import Findings, parse_xml, read_xml

SOURCE = """<?xml version="1.0"?>
<!-- é -->
<robot name='a > b'>
  <link name="x"/><link name="y">text/></link>
</robot>
"""


def refusal(data, **limits):
    with pytest.raises(DescriptionError) as error:
        parse_xml(data, "bad.urdf")
    (finding,) = error.value.findings
    return finding


def test_nodes_know_their_lines_attributes_and_children():
    text, root = parse_xml(SOURCE.encode(), "r.urdf")
    assert text == SOURCE
    assert (root.tag, root.line, root.attributes["name"]) == ("robot", 3, "a > b")
    assert [(n.attributes["name"], n.line) for n in root.all("link")] == [("x", 4), ("y", 4)]
    assert root.first("joint") is None


def test_spans_cut_the_very_bytes_of_an_element():
    data = SOURCE.encode()
    _, root = parse_xml(data, "r.urdf")
    x, y = root.children
    assert data[x.span.start : x.span.end] == b'<link name="x"/>'
    assert data[y.span.start : y.span.end] == b'<link name="y">text/></link>'
    assert data[root.span.start : root.span.opened] == b"<robot name='a > b'>"


def test_a_byte_order_mark_is_ignored():
    assert parse_xml(b"\xef\xbb\xbf<robot/>", "r.urdf")[1].tag == "robot"


@pytest.mark.parametrize(
    "dtd",
    [
        '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE r SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    ],
)
def test_a_document_type_is_refused_with_its_line(dtd):
    finding = refusal(f"<?xml version='1.0'?>\n{dtd}\n<robot/>".encode())
    assert finding.where == "bad.urdf:2"
    assert finding.code == "xml-doctype"


def test_an_undeclared_entity_is_not_well_formed():
    assert refusal(b"<robot>&x;</robot>").code == "xml-malformed"


def test_broken_xml_is_refused_at_its_line():
    finding = refusal(b"<robot>\n<link>\n</robot>")
    assert finding.where == "bad.urdf:3"
    assert finding.code == "xml-malformed"


def test_an_empty_file_is_refused():
    assert refusal(b"").code == "xml-malformed"


def test_bytes_that_are_not_utf8_are_refused_at_their_line():
    finding = refusal(b"<robot>\n\xe9</robot>")
    assert finding.where == "bad.urdf:2"
    assert finding.code == "file-not-utf8"


def test_deep_nesting_is_refused():
    good = b"<a>" * xml.MAX_DEPTH + b"</a>" * xml.MAX_DEPTH
    assert parse_xml(good, "deep.urdf")[1].tag == "a"
    assert refusal(b"<a>" + good + b"</a>").code == "xml-too-deep"


def test_too_many_elements_are_refused(monkeypatch):
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 10)
    assert refusal(b"<r>" + b"<a/>" * 10 + b"</r>").code == "file-too-large"
    assert parse_xml(b"<r>" + b"<a/>" * 9 + b"</r>", "good.urdf")[1].tag == "r"


def test_a_file_that_is_too_big_is_refused_before_it_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(xml, "MAX_BYTES", 2**20)
    path = tmp_path / "big.urdf"
    path.write_bytes(b" " * (2**20 + 1))
    monkeypatch.setattr(Path, "read_bytes", None)
    with pytest.raises(DescriptionError) as error:
        read_xml(path)
    (finding,) = error.value.findings
    assert (finding.code, finding.where) == ("file-too-large", "big.urdf")
    assert refusal(b" " * (2**20 + 1)).code == "file-too-large"


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(DescriptionError) as error:
        read_xml(tmp_path / "gone.urdf")
    (finding,) = error.value.findings
    assert (finding.code, finding.where) == ("file-unreadable", "gone.urdf")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2,5", "number-malformed"),
        ("", "number-count"),
        ("1 2", "number-count"),
        ("nan", "number-not-finite"),
        ("-inf", "number-not-finite"),
        ("1e999", "number-not-finite"),
        ("1_000", "number-malformed"),
        ("0x10", "number-malformed"),
        ("١", "number-malformed"),
    ],
)
def test_an_attribute_that_is_not_one_finite_number_is_a_fault(text, code):
    _, root = parse_xml(f'<mass value="{text}"/>'.encode(), "r.urdf")
    faults = Findings("r.urdf")
    assert faults.numbers(root, "value", 1, "link 'x'") is None
    (finding,) = faults.collected
    assert (finding.code, finding.where) == (code, "r.urdf:1 link 'x' <mass value>")


@pytest.mark.parametrize("text", ["1", "-1.5", "+.5", "5.", "1e-3", " 7\n"])
def test_decimal_numbers_are_read(text):
    _, root = parse_xml(f'<mass value="{text}"/>'.encode(), "r.urdf")
    assert Findings("r.urdf").numbers(root, "value", 1, "") == [float(text)]


def test_a_missing_attribute_without_default_is_a_fault():
    _, root = parse_xml(b"<mass/>", "r.urdf")
    faults = Findings("r.urdf")
    assert faults.numbers(root, "value", 1, "link 'x'") is None
    (finding,) = faults.collected
    assert (finding.code, finding.where) == ("attribute-missing", "r.urdf:1 link 'x' <mass value>")
