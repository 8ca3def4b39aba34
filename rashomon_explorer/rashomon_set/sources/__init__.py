"""Where sets come from: a file each; users reach them as ``RashomonSet.from_…``."""
