// Starts `relay lsp` for programs of Relay, and starts it again when its command is changed; debugs by `relay debug`.
"use strict";

const vscode = require("vscode");
const {LanguageClient} = require("vscode-languageclient/node");

let client;

async function start() {
  const [command, ...args] = vscode.workspace.getConfiguration("relay").get("command");
  const options = {documentSelector: [{language: "relay"}]};
  client = new LanguageClient("relay", "Relay", {command, args}, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const chosen = await vscode.window.showErrorMessage(
      `\`${[command, ...args].join(" ")}\` does not start (${error.message}). ` +
        "`pip install 'relay-ir[lsp]'` brings it; the setting relay.command says where it is.",
      "Open settings",
    );
    if (chosen) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "relay.command");
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

const debuggers = {
  // The command that answers a debugging session.
  createDebugAdapterDescriptor() {
    const [command, ...args] = vscode.workspace.getConfiguration("relay").get("debugCommand");
    return new vscode.DebugAdapterExecutable(command, args);
  },
};

const launches = {
  // F5 without a configuration debugs the open file.
  resolveDebugConfiguration(_folder, config) {
    if (!config.type && vscode.window.activeTextEditor?.document.languageId === "relay") {
      return {type: "relay", request: "launch", name: "Relay", program: "${file}", args: [], stopOnEntry: true};
    }
    return config;
  },
};

async function activate(context) {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("relay", debuggers),
    vscode.debug.registerDebugConfigurationProvider("relay", launches),
    vscode.commands.registerCommand("relay.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("relay.command")) {
        return restart();
      }
    }),
  );
  await start();
}

module.exports = {activate, deactivate: stop};
