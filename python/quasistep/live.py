"""Runs that go on, with their page in the browser."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from . import _core


class Live:
    """A run that goes on, and the page of it: sliders command joints, bodies are pulled with the mouse, parameters
    are changed by number (`the viewer <../viewer.html#live>`__). In a notebook it shows itself below the cell.

    Made by :meth:`System.live` and :meth:`Run.live`. It ends with :meth:`close`, at the end of a ``with``, or with
    the program.

    Attributes
    ----------
    address : str
        Of the page, on this machine only. Its token is the key: requests without it are refused.

    Examples
    --------
    >>> with qs.load("scenes/gripper_2d.yml").live() as live:
    ...     live.address[:17]
    'http://127.0.0.1:'
    >>> live.is_open
    False
    """

    def __init__(self, core: _core.Live, name: str) -> None:
        self._core = core
        self._name = name
        self.address: str = core.address

    def __repr__(self) -> str:
        state = self.address if self.is_open else "closed"
        return f"Live({self._name!r}, {state})"

    @property
    def is_open(self) -> bool:
        """True until it is closed."""
        return self._core.is_open

    def close(self) -> None:
        """Ends the run, and the page with it.

        Examples
        --------
        >>> live = qs.load("scenes/gripper_2d.yml").live()
        >>> live.close()
        >>> live.is_open
        False
        """
        self._core.close()

    def wait(self) -> None:
        """Waits for Ctrl-C, then closes.

        Examples
        --------
        >>> qs.load("scenes/gripper_2d.yml").live().wait()     # doctest: +SKIP
        """
        try:
            while self.is_open:
                time.sleep(0.1)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def show(self) -> Any:
        """Shows the page: in a notebook below the cell, else in the browser.

        Examples
        --------
        >>> qs.load("scenes/gripper_2d.yml").live().show()     # doctest: +SKIP
        """
        from .run import _in_notebook

        if _in_notebook():
            from IPython.display import display

            shows: Any = display
            return shows(self)
        import webbrowser

        webbrowser.open(self.address)
        return None

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.address}" style="width:100%;height:640px;border:0"></iframe>'

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
