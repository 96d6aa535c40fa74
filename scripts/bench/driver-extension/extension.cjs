'use strict';
// A browser profile that opens the editor for the first time has the built-in chat disabled, and the editor
// offers no setting for it. This enables it as a person would from the extensions view; the profile remembers.
const vscode = require('vscode');

exports.activate = async () => {
  const extensionId = 'GitHub.copilot-chat';
  if (vscode.extensions.getExtension(extensionId)) return;
  await vscode.commands.executeCommand('workbench.extensions.installExtension', extensionId, { enable: true });
};
