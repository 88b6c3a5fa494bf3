"""The patch of a rewrite in the user's editor."""

from __future__ import annotations

import click

from pallas_static_grid.model import Rewrite
from pallas_static_grid.render.notes import rewrite_notes
from pallas_static_grid.render.unified import to_bytes

_HELP = (
    "Edit the lines below that start with '+'; a '-' turned into a blank keeps a line.",
    "Line counts need not be kept right. Save to apply, leave without saving to go back.",
    "",
)


class EditorFailed(Exception):
    """The editor could not be run, or gave up."""


def edit_patch(rewrite: Rewrite) -> bytes | None:
    """The patch as the user saved it; None if nothing was saved."""
    notes = "".join(f"# {line}".rstrip() + "\n" for line in (*_HELP, *rewrite_notes(rewrite)))
    try:
        return click.edit(to_bytes(notes + rewrite.patch), extension=".patch", require_save=True)
    except click.ClickException as error:
        raise EditorFailed(error.format_message()) from error
