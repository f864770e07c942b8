"""Neovim and Emacs as docs/editors.md configures them, where they are installed: a mistake is shown and its fix applied."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.editor.text import TEXT
from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "editors.md").read_text()
NEOVIM = """
vim.cmd("edit k.ptx")
local function wait(f) assert(vim.wait(30000, f, 50), debug.traceback()) end
wait(function() return #vim.diagnostic.get(0) == 1 end)
local found = vim.diagnostic.get(0)[1]
assert(found.code == "unknown-instruction", found.code)
vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })
vim.lsp.buf.code_action({ apply = true })
wait(function() return #vim.diagnostic.get(0) == 0 end)
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
local place = vim.lsp.util.make_position_params(0, client.offset_encoding)
local told = client:request_sync("textDocument/hover", place, 30000, 0)
assert(told.result.contents.value:find("sm_75"))
vim.cmd("write | quitall!")
"""
EMACS = """
(setq eglot-sync-connect 30 create-lockfiles nil)
(defun wait (is-so) (with-timeout (30 (kill-emacs 1)) (while (not (funcall is-so)) (accept-process-output nil 0.1))))
(find-file "k.ptx")
(unless (eglot-current-server) (call-interactively 'eglot))
(wait 'flymake-diagnostics)
(let* ((found (car (flymake-diagnostics)))
       (actions (eglot-code-actions (flymake-diagnostic-beg found) (flymake-diagnostic-end found))))
  (unless (string-match-p "unknown-instruction" (flymake-diagnostic-text found)) (kill-emacs 1))
  (eglot--apply-workspace-edit (plist-get (elt actions 0) :edit)))
(eglot--signal-textDocument/didChange)
(wait (lambda () (not (flymake-diagnostics))))
(save-buffer)
(kill-emacs 0)
"""


def has_neovim():
    if shutil.which("nvim") is None:
        return False
    said = subprocess.run(["nvim", "--version"], capture_output=True, text=True).stdout
    version = re.search(r"v(\d+)\.(\d+)", said)
    return version is not None and (int(version[1]), int(version[2])) >= (0, 11)


def edited(folder, command):
    """The text after an editor has been through it."""
    (folder / "k.ptx").write_text(TEXT.replace("ldmatrix", "ldmatrx"))
    (folder / "ptxsim").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ptxsim "$@"\n')
    (folder / "ptxsim").chmod(0o755)
    known = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    known |= {f"XDG_{name}_HOME": str(folder) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
    done = subprocess.run(command, cwd=folder, env={**os.environ, **known}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "k.ptx").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not has_neovim(), reason="no Neovim from 0.11 on is installed")
def test_neovim(tmp_path):
    (configuration,) = re.findall(r"```lua\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "init.lua").write_text(configuration)
    (tmp_path / "drive.lua").write_text(
        f"local ok, problem = pcall(function()\n{NEOVIM}\nend)\nprint(problem)\nvim.cmd('cquit')\n"
    )
    assert edited(tmp_path, ["nvim", "--headless", "-u", "init.lua", "-S", "drive.lua"]) == TEXT


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("emacs") is None, reason="no Emacs is installed")
def test_emacs(tmp_path):
    (configuration,) = re.findall(r"```lisp\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "init.el").write_text(configuration)
    (tmp_path / "drive.el").write_text(EMACS)
    assert edited(tmp_path, ["emacs", "--batch", "-l", "eglot", "-l", "init.el", "-l", "drive.el"]) == TEXT
