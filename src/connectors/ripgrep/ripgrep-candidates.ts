/** Where ripgrep may be: what a person set, the editor's own, then the PATH. */
import path from 'node:path';

export interface RipgrepPlaces {
  /** From machine-scoped configuration. */
  readonly configured?: string;
  /** `vscode.env.appRoot`: VS Code and its forks ship ripgrep for their own search. */
  readonly editorRoot?: string;
  /** The value of `PATH`. */
  readonly searchPath?: string;
}

/** Absolute paths in the order in which they are tried; most of them do not exist. */
export function ripgrepCandidates({ configured, editorRoot, searchPath = '' }: RipgrepPlaces): readonly string[] {
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  // A relative entry of PATH would mean the directory of whatever runs.
  const onPath = searchPath.split(path.delimiter).filter((directory) => path.isAbsolute(directory));
  return [
    ...(configured === undefined ? [] : [configured]),
    ...(editorRoot === undefined ? [] : editorPlaces(editorRoot, name)),
    ...onPath.map((directory) => path.join(directory, name)),
  ];
}

/** The layouts of VS Code since 1.60: one package with every platform (1.139), or one for this platform, inside or beside the archive. */
function editorPlaces(root: string, name: string): readonly string[] {
  const platform = `${process.platform}-${process.arch}`;
  return ['node_modules', 'node_modules.asar.unpacked'].flatMap((modules) => [
    path.join(root, modules, '@vscode/ripgrep-universal/bin', platform, name),
    path.join(root, modules, '@vscode/ripgrep/bin', name),
    path.join(root, modules, 'vscode-ripgrep/bin', name),
  ]);
}
