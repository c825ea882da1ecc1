from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync_hooks.api.quantity import parse_quantity, whole_units


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", Fraction(8)),
        (8, Fraction(8)),
        ("500m", Fraction(1, 2)),
        ("1.5Gi", Fraction(3 * 2**29)),
        ("2000Gi", Fraction(2000 * 2**30)),
        ("2e3", Fraction(2000)),
        ("2E3", Fraction(2000)),
        ("1E", Fraction(10**18)),
        ("1Ei", Fraction(2**60)),
        ("3k", Fraction(3000)),
        ("100n", Fraction(1, 10**7)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("-1", Fraction(-1)),
        ("+1", Fraction(1)),
        (1.5, Fraction(3, 2)),
    ],
)
def test_a_quantity_is_read_exactly(text, value):
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "Gi", "8 GPUs", "1.2.3", "1KI", "0x8", "1e", "1e999", "--1", True, None, [], {}])
def test_what_is_no_quantity_is_none(text):
    assert parse_quantity(text) is None


@pytest.mark.parametrize(("text", "units"), [("8", 8), ("7900m", 7), ("-3", 0), ("much", 0), (None, 0), ("1Ki", 1024)])
def test_whole_units_never_exceed_what_is_offered(text, units):
    assert whole_units(text) == units


@given(st.text() | st.integers() | st.floats() | st.none() | st.booleans())
def test_any_value_is_read_or_refused_without_an_error(value):
    number = parse_quantity(value)
    assert number is None or isinstance(number, Fraction)
    assert whole_units(value) >= 0
