import { execFile } from 'node:child_process';
import path from 'node:path';
import { ROOT } from '../../../scripts/lib/cache-folder.mjs';
import { cleanEnv } from '../../../scripts/lib/clean-env.mjs';
import type { Workbench } from './launch-workbench.ts';

/** What `banksman call --json` prints. */
export interface CallAnswer {
  readonly status: string;
  readonly code: string;
  readonly message: string;
  readonly request_id?: string;
}

/** One call from the command line, with the state, the pinned keys and the cluster of the editor; it waits for nobody. */
export function callFromCommandLine(bench: Workbench, tool: string, input: object): Promise<CallAnswer> {
  const program = path.join(ROOT, 'dist', 'cli.cjs');
  const words = [
    'call',
    tool,
    '--input',
    JSON.stringify(input),
    '--json',
    '--model',
    'claude-3-opus',
    '--config',
    JSON.stringify(bench.demo.config),
  ];
  const env = cleanEnv({ XDG_CONFIG_HOME: bench.configDir, XDG_STATE_HOME: bench.stateDir });
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...words], { env, cwd: bench.folder }, (error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout) as CallAnswer);
      } catch {
        reject(new Error(`banksman call printed: ${stdout}\n${stderr}`, { cause: error }));
      }
    });
  });
}
