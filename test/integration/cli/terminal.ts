/** A real terminal with a program in it, by `script` of util-linux: what is typed and what is seen. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface TerminalEnd {
  readonly status: number | null;
  /** All that was on the screen. */
  readonly screen: string;
}

/** Each text that has to appear (after the one before), and what is typed then (`\r` is Enter, `\u0003` Ctrl+C), or found out from the screen. */
export type Dialogue = readonly (readonly [sees: string, types: string | ((screen: string) => string | boolean)])[];

export interface TerminalOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Runs a shell line as the foreground program of a terminal of its own. */
export async function onTerminal(line: string, dialogue: Dialogue, options: TerminalOptions): Promise<TerminalEnd> {
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { ...options.env, SHELL: '/bin/sh' },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const rest = [...dialogue];
  let screen = '';
  let read = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    for (let [next] = rest; next !== undefined && screen.includes(next[0], read); [next] = rest) {
      read = screen.indexOf(next[0], read) + next[0].length;
      rest.shift();
      const types = typeof next[1] === 'string' ? next[1] : next[1](screen);
      if (typeof types === 'string') child.stdin.write(types);
    }
  });
  // It may end before all was typed.
  child.stdin.on('error', () => undefined);
  const [status] = (await once(child, 'close')) as [number | null];
  if (rest.length > 0) throw new Error(`the terminal never showed ${JSON.stringify(rest[0]?.[0])}, only:\n${screen}`);
  return { status, screen: screen.replaceAll('\r\n', '\n') };
}

/** A word of a shell line. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
