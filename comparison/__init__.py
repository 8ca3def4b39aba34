"""What the package gives for some 1,260 public settings, to compare before and after a step.

``python -m comparison record before.json`` writes it (three minutes), ``python -m comparison compare
before.json after.json`` says what differs; words only with ``--words``.

Beside it stands what moves the modules into the sixteen rooms of the new layout:
``edits_before_move.py ROOT`` makes the few edits that a merge needs, ``move.py house.map ROOT
[--dry]`` merges and moves modules and rewrites every import, test, list and document, and
``import_circles.py ROOT`` lists circles of files and imports that run back. On a copy of commit
a70fae4 this gave 424 files without a circle, type-checked, with 29 of 8,635 tests to mend. The map
names the modules of that commit: add the modules that came since. The folder goes when the second
house step is done.
"""
