/** A person at a terminal with the command line. */
import { type Bench, cli } from './support.ts';
import { type Dialogue, onTerminal, quoted, type TerminalEnd } from './terminal.ts';

export const passphrase = 'correct horse battery staple';

/** The program as a shell line. */
export function banksman(words: readonly string[]): string {
  return [process.execPath, cli, ...words].map(quoted).join(' ');
}

export interface Person {
  /** Runs it at a terminal. */
  at(words: readonly string[], dialogue?: Dialogue, env?: NodeJS.ProcessEnv): Promise<TerminalEnd>;
  /** A shell line at a terminal. */
  shell(line: string, dialogue?: Dialogue, env?: NodeJS.ProcessEnv): Promise<TerminalEnd>;
  createApprover(name: string, voucher?: string): Promise<TerminalEnd>;
  /** The one-time code that `show` puts on the screen. */
  codeOf(id: string): Promise<string>;
  approve(id: string, more?: readonly string[]): Promise<TerminalEnd>;
  /** The same of what cannot be undone, for which a person types what the screen says. */
  approveTyping(id: string): Promise<TerminalEnd>;
}

/** @param cwd where they sit; left out: the test's own directory */
export function personAt(bench: Pick<Bench, 'env'>, cwd?: string): Person {
  const shell: Person['shell'] = (line, dialogue = [], env = {}) =>
    onTerminal(line, dialogue, { env: { ...bench.env, ...env }, ...(cwd === undefined ? {} : { cwd }) });
  const at: Person['at'] = (words, dialogue, env) => shell(banksman(words), dialogue, env);
  const codeOf = async (id: string): Promise<string> => {
    const { screen } = await at(['approvals', 'show', id]);
    const code = /one-time code: (ott-[a-zA-Z0-9]{8}) /.exec(screen)?.[1];
    if (code === undefined) throw new Error(`no code on the screen:\n${screen}`);
    return code;
  };
  return {
    at,
    shell,
    codeOf,
    createApprover: (name, voucher) =>
      at(
        ['approvers', 'create', name],
        [
          ...(voucher === undefined ? [] : ([[`passphrase of approver ${voucher}`, `${passphrase}\r`]] as const)),
          [`new passphrase for ${name}`, `${passphrase}\r`],
          ['the same again', `${passphrase}\r`],
        ],
      ),
    approveTyping: async (id) => {
      const code = await codeOf(id);
      return at(
        ['approvals', 'approve', id],
        [
          ['one-time code (', `${code}\r`],
          ['` to approve it once', (screen) => `${/type `([^`]+)` to approve/.exec(screen)?.[1] ?? ''}\r`],
          ['passphrase of approver', `${passphrase}\r`],
        ],
      );
    },
    approve: async (id, more = []) => {
      const code = await codeOf(id);
      return at(
        ['approvals', 'approve', id, ...more],
        [
          ['one-time code (', `${code}\r`],
          ['passphrase of approver', `${passphrase}\r`],
        ],
      );
    },
  };
}
