'use strict';
// Another extension in the same host, with bad intentions and no person's help. The test puts a file
// `attack.json` ({ "name", "requestId" }) into the workspace folder; what came of it is written to `report-<name>.json`.
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { attacks } = require('./attacks.cjs');

const POLL_MS = 200;

exports.activate = (context) => {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (!folder) return;
  const order = path.join(folder, 'attack.json');
  const timer = setInterval(async () => {
    if (!fs.existsSync(order)) return;
    const { name, requestId } = JSON.parse(fs.readFileSync(order, 'utf8'));
    fs.rmSync(order);
    const report = [];
    try {
      await attacks[name]({ requestId, report: (line) => report.push(line) });
    } catch (error) {
      report.push(`attack ended with ${error?.stack ?? error}`);
    }
    const file = path.join(folder, `report-${name}.json`);
    fs.writeFileSync(`${file}.part`, JSON.stringify(report, undefined, 1));
    fs.renameSync(`${file}.part`, file);
  }, POLL_MS);
  context.subscriptions.push({ dispose: () => clearInterval(timer) });
};
