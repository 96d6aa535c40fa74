/** Real processes that share a store with the test, spoken to line by line. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export interface Child {
  /** The next line of its output; rejects with its errors when it ends first. */
  line(): Promise<string>;
  send(line: string): void;
  /** Kills without any chance to clean up, and waits for the end. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  pause(): void;
  resume(): void;
  /** Waits for the end; all lines that were not taken. */
  end(): Promise<readonly string[]>;
}

/** Starts `children/<name>.ts`. `wrap` is a command that starts it, for example inside a mount namespace. */
export function startChild(name: string, values: readonly string[], wrap: readonly string[] = []): Child {
  const script = fileURLToPath(new URL(`./children/${name}.ts`, import.meta.url));
  const [command = process.execPath, ...before] = [...wrap, process.execPath, script, ...values];
  const child = spawn(command, before, { stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  let errors = '';
  let wake = (): void => {};
  const state = { ended: false };
  child.stderr.on('data', (data) => {
    errors += data;
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    wake();
  });
  const closed = once(child, 'close').then(() => {
    state.ended = true;
    wake();
  });
  // A child that was killed cannot be written to; that is what the tests do.
  child.stdin.on('error', () => undefined);
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await closed;
  };
  onTestFinished(kill);
  return {
    line: async () => {
      while (lines.length === 0 && !state.ended) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const line = lines.shift();
      if (line === undefined) throw new Error(`${name} ended: ${errors}`);
      return line;
    },
    send: (line) => void child.stdin.write(`${line}\n`),
    kill,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    end: async () => {
      await closed;
      return lines.splice(0);
    },
  };
}
