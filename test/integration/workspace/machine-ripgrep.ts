import { existsSync, globSync } from 'node:fs';
import path from 'node:path';

/** A ripgrep of this machine: the PATH's, or the one that the editor of the editor tests brings; undefined where there is none. */
export const ripgrep: string | undefined = [
  ...(process.env['PATH'] ?? '').split(path.delimiter).map((directory) => path.join(directory, 'rg')),
  ...globSync(`.cache/editor/**/@vscode/ripgrep-universal/bin/${process.platform}-${process.arch}/rg`, {
    cwd: path.resolve(import.meta.dirname, '../../..'),
  }).map((found) => path.resolve(import.meta.dirname, '../../..', found)),
].find((candidate) => existsSync(candidate));
