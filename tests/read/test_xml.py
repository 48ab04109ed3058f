"""The XML parser keeps places and lines, and refuses what a robot description never needs."""

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
    assert "document type" in finding.what
    assert finding.fix.startswith("Remove")


def test_an_undeclared_entity_is_not_well_formed():
    assert "undefined entity" in refusal(b"<robot>&x;</robot>").what


def test_broken_xml_is_refused_at_its_line():
    finding = refusal(b"<robot>\n<link>\n</robot>")
    assert finding.where == "bad.urdf:3"
    assert "not well-formed XML: mismatched tag" in finding.what


def test_an_empty_file_is_refused():
    assert "no element found" in refusal(b"").what


def test_bytes_that_are_not_utf8_are_refused_at_their_line():
    finding = refusal(b"<robot>\n\xe9</robot>")
    assert finding.where == "bad.urdf:2"
    assert "0xe9 is not UTF-8" in finding.what


def test_deep_nesting_is_refused():
    good = b"<a>" * xml.MAX_DEPTH + b"</a>" * xml.MAX_DEPTH
    assert parse_xml(good, "deep.urdf")[1].tag == "a"
    assert "deeper than 256" in refusal(b"<a>" + good + b"</a>").what


def test_too_many_elements_are_refused(monkeypatch):
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 10)
    assert "more than 10 elements" in refusal(b"<r>" + b"<a/>" * 10 + b"</r>").what


def test_a_file_that_is_too_big_is_refused_before_it_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(xml, "MAX_BYTES", 2**20)
    path = tmp_path / "big.urdf"
    path.write_bytes(b" " * (2**20 + 1))
    with pytest.raises(DescriptionError, match=r"big\.urdf: is 1 MB, more than 1\. Keep meshes"):
        read_xml(path)
    assert "more than 1" in refusal(path.read_bytes()).what


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(DescriptionError, match=r"gone\.urdf: cannot be read: No such file"):
        read_xml(tmp_path / "gone.urdf")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2,5", "'2,5' is not a number"),
        ("", "no numbers"),
        ("1 2", "2 numbers"),
        ("nan", "not finite"),
        ("-inf", "not finite"),
        ("1e999", "not finite"),
        ("1_000", "not a number"),
        ("0x10", "not a number"),
        ("١", "not a number"),
    ],
)
def test_what_is_not_one_finite_number_is_noted(text, reason):
    _, root = parse_xml(f'<mass value="{text}"/>'.encode(), "r.urdf")
    faults = Findings("r.urdf")
    assert faults.numbers(root, "value", 1, "link 'x'") is None
    (finding,) = faults.found
    assert finding.where == "r.urdf:1 link 'x'"
    assert reason in finding.what


@pytest.mark.parametrize("text", ["1", "-1.5", "+.5", "5.", "1e-3", " 7\n"])
def test_decimal_numbers_are_read(text):
    _, root = parse_xml(f'<mass value="{text}"/>'.encode(), "r.urdf")
    assert Findings("r.urdf").numbers(root, "value", 1, "") == [float(text)]


def test_a_missing_attribute_without_default_is_noted():
    _, root = parse_xml(b"<mass/>", "r.urdf")
    faults = Findings("r.urdf")
    assert faults.numbers(root, "value", 1, "link 'x'") is None
    assert faults.found[0].what == "<mass value> is missing"
