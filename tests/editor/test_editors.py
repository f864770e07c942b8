"""Neovim and Emacs as docs/editors.md configures them, where they are installed: a mistake is shown and its fix applied."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT, text_of

TEXT = text_of("editor/loop.ptx")
MISSPELT = TEXT.replace("ldmatrix", "ldmatrx")
LAUNCHED = f"// ptxsim: launch grid=1 block=32\n// ptxsim: arg out = zeros(4):u32\n{TEXT}"
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
# The lens runs the file; the numbers of the run are hints at the ends of its lines, and a name is changed at each of its places.
NEOVIM_RUNS = """
vim.cmd("edit k.ptx")
local function wait(f) assert(vim.wait(60000, f, 50), debug.traceback()) end
wait(function() return #vim.lsp.get_clients({ bufnr = 0 }) == 1 end)
wait(function() vim.lsp.codelens.refresh(); return #vim.lsp.codelens.get(0) == 1 end)
vim.api.nvim_win_set_cursor(0, { vim.lsp.codelens.get(0)[1].range.start.line + 1, 0 })
vim.lsp.codelens.run()
wait(function()
    for _, hint in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
        if vim.inspect(hint):find("wavefronts") then return true end
    end
end)
vim.cmd("/loop:")
vim.lsp.buf.rename("again")
wait(function() return vim.api.nvim_buf_get_lines(0, 0, -1, false)[WHERE]:find("again:") end)
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


def neovim():
    """A Neovim that has what docs/editors.md writes: the extra `neovim` puts one beside Python, others are on the PATH."""
    for place in (str(Path(sys.executable).parent), None):
        found = shutil.which("nvim", path=place)
        said = found and subprocess.run([found, "--version"], capture_output=True, text=True).stdout
        version = re.search(r"v(\d+)\.(\d+)", said or "")
        if version and (int(version[1]), int(version[2])) >= (0, 11):
            return found
    pytest.skip("no Neovim from 0.11 on is installed")


def edited(folder, command, text):
    """The text after an editor has been through it."""
    (folder / "k.ptx").write_text(text)
    (folder / "ptxsim").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ptxsim "$@"\n')
    (folder / "ptxsim").chmod(0o755)
    known = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    known |= {f"XDG_{name}_HOME": str(folder) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
    done = subprocess.run(command, cwd=folder, env={**os.environ, **known}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "k.ptx").read_text()


def in_neovim(folder, script, text):
    (configuration,) = re.findall(r"```lua\n(.*?)```", PAGE, re.DOTALL)
    (folder / "init.lua").write_text(configuration)
    (folder / "drive.lua").write_text(
        f"local ok, problem = pcall(function()\n{script}\nend)\nprint(problem)\nvim.cmd('cquit')\n"
    )
    return edited(folder, [neovim(), "--headless", "-u", "init.lua", "-S", "drive.lua"], text)


@pytest.mark.slow
def test_neovim(tmp_path):
    assert in_neovim(tmp_path, NEOVIM, MISSPELT) == TEXT


@pytest.mark.slow
def test_neovim_runs_the_file(tmp_path):
    place = LAUNCHED.split("\n").index("loop:") + 1
    text = in_neovim(tmp_path, NEOVIM_RUNS.replace("WHERE", str(place)), LAUNCHED)
    assert text == LAUNCHED.replace("loop", "again")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("emacs") is None, reason="no Emacs is installed")
def test_emacs(tmp_path):
    (configuration,) = re.findall(r"```lisp\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "init.el").write_text(configuration)
    (tmp_path / "drive.el").write_text(EMACS)
    assert edited(tmp_path, ["emacs", "--batch", "-l", "eglot", "-l", "init.el", "-l", "drive.el"], MISSPELT) == TEXT
