// Starts `ptxsim lsp` for .ptx files and `ptxsim dap` for debug sessions.
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

function command(): string {
  return vscode.workspace.getConfiguration("ptxsim").get<string>("command", "ptxsim");
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("ptxsim", {
      createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(command(), ["dap"]),
    }),
  );
  client = new LanguageClient(
    "ptxsim",
    "ptxsim",
    { command: command(), args: ["lsp"] },
    { documentSelector: [{ language: "ptx" }] },
  );
  try {
    await client.start();
  } catch (problem) {
    void vscode.window.showErrorMessage(
      `ptxsim lsp does not start: ${problem}. Install it with pip install 'ptxsim[editor]', and set "ptxsim.command".`,
    );
  }
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
