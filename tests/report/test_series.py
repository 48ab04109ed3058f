"""Series are read back exactly, and other files are refused."""

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.errors import SteelyardError
from steelyard.identify.series import Series, load_series, save_series
from tests.refusals import refuses

NUMBERS = st.floats(allow_nan=True, allow_infinity=False)
NAMES = st.text(st.characters(exclude_categories=["Cs"]))


@st.composite
def some_series(draw):
    samples, count = draw(st.integers(0, 5)), draw(st.integers(0, 3))
    names = st.lists(NAMES, min_size=count, max_size=count).map(tuple)
    values = arrays(float, (samples, count), elements=NUMBERS)
    return Series(
        log=draw(NAMES),
        role=draw(st.sampled_from(["fit", "validation"])),
        rows=draw(names),
        units=draw(names),
        time=np.arange(samples) * 0.01,
        measured=draw(values),
        predicted=draw(values),
    )


@given(series=st.lists(some_series(), max_size=3))
def test_a_round_trip_changes_nothing(series, tmp_path_factory):
    path = tmp_path_factory.mktemp("series") / "series.npz"
    path.write_bytes(save_series(series))
    loaded = load_series(path)
    assert len(loaded) == len(series)
    for a, b in zip(series, loaded, strict=True):
        assert (a.log, a.role, a.rows, a.units) == (b.log, b.role, b.rows, b.units)
        for name in ("time", "measured", "predicted"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_same_series_give_the_same_bytes(series):
    assert save_series(series) == save_series(series)


def test_a_malformed_series_is_refused_with_every_reason():
    with pytest.raises(SteelyardError) as error:
        Series("run", "test", ("a", "b"), ("N",), np.zeros(3), np.zeros((3, 1)), np.zeros((2, 2)))
    places = ["role", "units", "measured", "predicted"]
    assert [(f.code, f.where.rpartition(", ")[2]) for f in error.value.findings] == [
        ("series-malformed", place) for place in places
    ]
    with refuses(SteelyardError, "series-malformed", ", time"):
        Series("run", "fit", ("a",), ("N",), np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1)))


def npz(**content):
    out = io.BytesIO()
    np.savez(out, **content)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an archive",
        b"PK\x03\x04 half an archive",
        npz(time_0=np.zeros(3)),
        npz(names=np.array("[]")),
        npz(names=np.array("{")),
        npz(names=np.array(json.dumps({"schema": 2, "series": []}))),
        npz(names=np.array(json.dumps({"schema": 1, "series": [{"log": "a"}]}))),
        npz(names=np.array({"a": 1}, dtype=object)),  # a pickle
    ],
)
def test_a_file_of_another_kind_is_refused(content, tmp_path):
    path = tmp_path / "series.npz"
    path.write_bytes(content)
    with refuses(SteelyardError, "file-unreadable", "series.npz"):
        load_series(path)


def test_a_missing_file_is_refused(tmp_path):
    with refuses(SteelyardError, "file-unreadable", "absent.npz"):
        load_series(tmp_path / "absent.npz")
