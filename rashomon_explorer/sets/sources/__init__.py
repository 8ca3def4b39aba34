"""Where sets come from: a function and a file each."""
