/**
 * A process of its own that writes one file: `node write-as.ts JOB as JSON`. Every call that changes the disk is counted, and the process can be
 * killed before any of them. Prints the count.
 */
import * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

export interface WriteJobOfChild {
  readonly base: string;
  readonly path: string;
  readonly content: string;
  /** A reason: there is none. */
  readonly journal?: string;
  /** Counted from 1. */
  readonly killAt?: number;
}

const job = JSON.parse(process.argv[2] ?? '') as WriteJobOfChild;
let [armed, count] = [false, 0];

type Act = (...args: unknown[]) => unknown;

function wrap(target: Record<string, Act>, names: readonly string[]): void {
  for (const name of names) {
    const act = target[name];
    if (act === undefined) throw new Error(`there is no ${name}`);
    target[name] = (...args) => {
      if (armed) count += 1;
      if (armed && count === job.killAt) process.kill(process.pid, 'SIGKILL');
      return act.apply(target, args);
    };
  }
}

const plain = (fs as unknown as { default: Record<string, Act> & { promises: Record<string, Act> } }).default;
wrap(plain, ['mkdirSync', 'writeFileSync', 'renameSync', 'linkSync', 'unlinkSync', 'fsyncSync', 'rmdirSync', 'chmodSync']);
wrap(plain, ['chownSync', 'openSync', 'write', 'fsync', 'fchmod', 'fchown']);
wrap(plain.promises, ['writeFile']);
syncBuiltinESMExports();

const { openFilesBench } = await import('../support/files-bench.ts');
const { files } = openFilesBench(job.base, job.journal);
armed = true;
await files.write(job.path, job.content, { createDirs: true }, { agentId: 'cli:test' });
process.stdout.write(String(count));
