/** The import table applied to an import graph: pure, so that it can be tested rule by rule. */
import { isBuiltin } from 'node:module';
import type { ImportEdge, ImportGraph, SourceFile } from './import-graph.ts';
import type { FileException, FolderRule } from './table.ts';

export interface Table {
  readonly folders: readonly FolderRule[];
  readonly exceptions: readonly FileException[];
  /** Below `src/`: to be imported by `await import(…)` only. */
  readonly lazyFiles: readonly string[];
}

/** One line each, `file: what, and what is allowed`; empty when the graph keeps to the table. */
export function violationsOf(graph: ImportGraph, table: Table): readonly string[] {
  return [
    ...graph.files.flatMap((source) => fileViolations(source, table)),
    ...graph.cycles.map((cycle) => `cycle: ${cycle.join(' -> ')}`),
  ];
}

function fileViolations(source: SourceFile, table: Table): readonly string[] {
  const rule = ruleFor(source.file, table);
  if (rule === undefined) return [`${source.file}: is in a folder that scripts/architecture/table.ts does not list`];
  const problems = source.imports.map((edge) => edgeProblem(edge, rule, table));
  return [...problems, opaqueImport(source.text), toolFileProblem(source)]
    .filter((problem) => problem !== undefined)
    .map((problem) => `${source.file}: ${problem}`);
}

/** The folder's rule, widened by the file's exception. The longest folder wins. */
function ruleFor(file: string, table: Table): FolderRule | undefined {
  const below = file.replace(/^src\//, '');
  const rule = table.folders
    .filter(({ folder }) => below.startsWith(`${folder}/`))
    .toSorted((a, b) => b.folder.length - a.folder.length)[0];
  const extra = table.exceptions.find((exception) => exception.file === below);
  if (rule === undefined || extra === undefined) return rule;
  return {
    ...rule,
    folders: [...rule.folders, ...(extra.folders ?? [])],
    builtins: [...rule.builtins, ...(extra.builtins ?? [])],
    ...(extra.data === undefined ? {} : { data: extra.data }),
  };
}

function edgeProblem(edge: ImportEdge, rule: FolderRule, table: Table): string | undefined {
  const { specifier } = edge;
  if (isBuiltin(specifier)) return builtinProblem(specifier, rule);
  if (specifier.startsWith('.') || specifier.startsWith('#')) return ownFileProblem(edge, rule, table);
  const allowed = rule.packages.some((name) => specifier === name || specifier.startsWith(`${name}/`));
  return allowed ? undefined : `must not import the package ${specifier}; ${rule.folder} may import ${listed(rule.packages)}`;
}

function builtinProblem(specifier: string, rule: FolderRule): string | undefined {
  if (!specifier.startsWith('node:')) return `write \`node:${specifier}\``;
  const name = specifier.slice('node:'.length).split('/', 1)[0] ?? '';
  return rule.builtins.includes(name) ? undefined : `must not import ${specifier}; ${rule.folder} may import ${listed(rule.builtins)}`;
}

function ownFileProblem(edge: ImportEdge, rule: FolderRule, table: Table): string | undefined {
  if (edge.file === undefined) return `imports ${edge.specifier}, which does not exist`;
  if (rule.data?.includes(edge.file) === true) return undefined;
  const target = edge.file.startsWith('src/') ? ruleFor(edge.file, table)?.folder : undefined;
  if (target === undefined) return `must not import ${edge.file}: it is in no folder that the table lists`;
  return lazyProblem(edge, edge.file, table) ?? spellingProblem(edge, target, rule) ?? folderProblem(edge, target, rule);
}

function lazyProblem(edge: ImportEdge, file: string, table: Table): string | undefined {
  const eagerly = !edge.lazy && table.lazyFiles.includes(file.replace(/^src\//, ''));
  return eagerly ? `must import ${edge.specifier} by \`await import(…)\`` : undefined;
}

/** Subpath imports across folders, relative ones inside. */
function spellingProblem(edge: ImportEdge, target: string, rule: FolderRule): string | undefined {
  const bySubpath = edge.specifier.startsWith('#');
  if (target === rule.folder) return bySubpath ? `write a relative import for ${edge.specifier}: it is in the same folder` : undefined;
  return bySubpath ? undefined : `write \`#${target}/…\` for ${edge.specifier}`;
}

function folderProblem(edge: ImportEdge, target: string, rule: FolderRule): string | undefined {
  if (target === rule.folder) return undefined;
  return rule.folders.includes(target) ? undefined : `must not import ${edge.specifier}; ${rule.folder} may import ${listed(rule.folders)}`;
}

function listed(names: readonly string[]): string {
  return names.length > 0 ? names.join(', ') : 'none';
}

/** Ways to get at a module that the import graph cannot show. Lines of comment do not count. */
function opaqueImport(text: string): string | undefined {
  const code = text.replace(/^\s*(?:\/\/|\/\*\*|\* |\*\/).*$/gm, '');
  const found = /\bimport\s*\(\s*(?!['"\s])|\bgetBuiltinModule\b|\bcreateRequire\b/.exec(code)?.[0];
  return found === undefined ? undefined : `\`${found}\` hides what is imported; write the module's name as plain text in an import`;
}

/** A tool is a constant named as the tool, in the file of its family: `stop_vm` is `stopVm` somewhere in `src/tools/<group>/`, and nowhere else. */
function toolFileProblem({ file, text }: SourceFile): string | undefined {
  if (file.startsWith('src/kernel/')) return undefined;
  if (!/^src\/tools\/[a-z]+\/.+\.ts$/.test(file))
    return /\bdefineTool(?:<[^(]*>)?\(/.test(text) ? 'declares a tool outside src/tools/<group>/' : undefined;
  const tools = text.matchAll(/^(export )?const (\w+) = defineTool(?:<[^(]*>)?\(\{\s*(?:\.\.\.\w+,\s*)?(?:name: '(\w+)')?/gm);
  for (const [, exported, constant = '', name] of tools) {
    const wanted = name?.replace(/_(.)/g, (_match, letter: string) => letter.toUpperCase());
    if (wanted === undefined) return `must begin the tool \`${constant}\` with its name`;
    if (exported === undefined || constant !== wanted) return `must export the tool \`${name}\` as \`${wanted}\``;
  }
  return undefined;
}
