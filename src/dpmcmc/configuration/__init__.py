"""Models and algorithms of a study's file: reading, checking, and the catalogue."""
