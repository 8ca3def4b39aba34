"""Files of the page's template; an address that names none is not found, and fails nowhere."""

import re
from posixpath import normpath

from tornado.web import HTTPError
from voila.static_file_handler import TemplateStaticFileHandler

_FILE = re.compile(r"[A-Za-z0-9][\w.-]*/static/[^\0]+")


class TemplateFile(TemplateStaticFileHandler):
    """A file of a template: Voilà's handler takes any other address apart and raises ValueError."""

    def parse_url_path(self, url_path: str) -> str:
        """Return the path of ``<template>/static/<file>``; 404 for anything else."""
        if not is_template_file(url_path):
            raise HTTPError(404)
        return str(super().parse_url_path(url_path))


def is_template_file(path: str) -> bool:
    r"""Whether an address below ``/voila/templates/`` can be that of a file.

    >>> [is_template_file(path) for path in ("lab/static/a.js", "x", "lab/static/../../x")]
    [True, False, False]
    """
    return all(_FILE.fullmatch(one) for one in (path, normpath(path)))
