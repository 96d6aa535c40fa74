import { createCommandRunner } from '#execution/command-runner';
import { isControlPath } from '#policy/paths/control-files';
import { isSecretPath } from '#policy/paths/secret-files';
const log = { debug() {}, info: console.error, warn() {}, error() {} };
const [ws, cmd, net] = process.argv.slice(2);
const r = createCommandRunner({ workspaceRoot: ws!, stateDir: '/tmp/sbx/state', hiddenPaths: [], requireSandbox: false, rules: { isControl: isControlPath, isSecret: isSecretPath }, log });
const res = await r.run({ command: cmd!, surface: 'workspace_command', timeoutMs: 10000, network: net === 'net', agentId: 'x' }, new AbortController().signal, () => {});
console.log(res.stdout, res.stderr, res);
