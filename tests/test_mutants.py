"""The faults of `mutants.py` can still be put into the package; that they are seen is torture."""

from conftest import ROOT
from mutants import MUTANTS


def test_the_text_of_every_fault_is_there_once_and_so_are_its_tests():
    for mutant in MUTANTS:
        text = (ROOT / "src" / mutant.file).read_text()
        assert text.count(mutant.old) == 1, mutant.name
        assert mutant.new != mutant.old, mutant.name
        assert all((ROOT / "tests" / file).is_file() for file in mutant.tests.split()), mutant.name
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
