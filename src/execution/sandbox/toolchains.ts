/** Compilers and interpreters that people install outside `/usr`: directories that hold programs only, bound read-only. */
import { existsSync } from 'node:fs';
import path from 'node:path';

/** Below the home directory. Never a tool's whole directory where it keeps credentials, too (`.cargo`, `.npm`, `.docker`). */
const belowHome = [
  ...['.nvm/versions', '.volta/bin', '.volta/tools', '.local/share/fnm', '.local/share/mise/installs', '.local/share/mise/shims'],
  ...['.asdf/installs', '.asdf/shims', '.asdf/bin', '.pyenv', '.rbenv', '.rustup', '.cargo/bin', '.deno/bin', '.bun/bin', 'go/bin'],
  ...['.sdkman/candidates'],
];
/** Variables by which a tool finds itself when the home directory is another one. */
const homes: Readonly<Record<string, string>> = { '.pyenv': 'PYENV_ROOT', '.rbenv': 'RBENV_ROOT', '.rustup': 'RUSTUP_HOME' };

export interface Toolchains {
  /** Absolute directories. */
  readonly directories: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** @param searchPath the caller's `PATH`, for programs below `/opt` */
export function findToolchains(home: string, searchPath: string): Toolchains {
  const found = belowHome.filter((name) => existsSync(path.join(home, name)));
  const optional = searchPath
    .split(path.delimiter)
    .map((entry) => /^\/opt\/[^/]+/.exec(path.normalize(entry))?.[0])
    .filter((entry) => entry !== undefined)
    .filter((entry) => existsSync(entry));
  return {
    directories: [...found.map((name) => path.join(home, name)), ...new Set(optional)],
    env: Object.fromEntries(
      found.flatMap((name) => {
        const variable = homes[name];
        return variable === undefined ? [] : [[variable, path.join(home, name)]];
      }),
    ),
  };
}
