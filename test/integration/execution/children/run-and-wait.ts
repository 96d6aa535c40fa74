/** A process of its own that runs a command: `node run-and-wait.ts WORKSPACE STATE COMMAND [LIMITS as JSON]`. Tests kill it. */
import { createCommandRunner } from '#execution/command-runner';

const [workspaceRoot = '', stateDir = '', command = '', limits = '{}'] = process.argv.slice(2);
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const rules = { isControl: () => false, isSecret: () => false };
const runner = createCommandRunner({
  workspaceRoot,
  stateDir,
  hiddenPaths: [],
  requireSandbox: true,
  rules,
  log: quiet,
  limits: JSON.parse(limits),
});
const request = { command, surface: 'workspace_command', timeoutMs: 600_000, network: false, agentId: 'cli:test' } as const;
await runner.run(request, new AbortController().signal, () => undefined);
