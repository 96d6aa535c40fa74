/** Reads the import graph with dependency-cruiser, and refuses to believe a graph that does not match the files on disk. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { cruise, type ICruiseResult, type IModule } from 'dependency-cruiser';
import { specifiersOf } from './specifiers.ts';

export interface ImportEdge {
  /** As written: `#kernel/json`, `node:fs`, `zod`. */
  readonly specifier: string;
  /** Relative to the root, for our own files; undefined for packages, built-ins and what could not be resolved. */
  readonly file?: string;
  readonly lazy: boolean;
}

export interface SourceFile {
  /** Relative to the root, with forward slashes. */
  readonly file: string;
  readonly text: string;
  readonly imports: readonly ImportEdge[];
}

export interface ImportGraph {
  readonly files: readonly SourceFile[];
  /** Each a list of files that ends where it began. */
  readonly cycles: readonly (readonly string[])[];
}

/**
 * The import graph of `root`/src.
 * @throws {Error} when the cruiser saw other files than there are, or missed an import that plain text search finds: with the wrong
 *   parser it sees nothing at all and every rule passes.
 */
export async function readImportGraph(root: string): Promise<ImportGraph> {
  const onDisk = globSync('src/**/*.{ts,mts,cts,js,mjs,cjs}', { cwd: root }).map(withForwardSlashes).toSorted();
  if (onDisk.length === 0) throw new Error('architecture: there is no source file in src');
  const result = await cruiseSources(root);
  const modules = new Map(result.modules.map((module) => [module.source, module]));
  const files = onDisk.map((file) => readSourceFile(root, file, modules.get(file)));
  const cycles = result.summary.violations.filter(({ rule }) => rule.name === 'no-circular').map((violation) => violation.cycle ?? []);
  return { files, cycles: cycles.map((cycle) => cycle.map(({ name }) => name)) };
}

async function cruiseSources(root: string): Promise<ICruiseResult> {
  const { output } = await cruise(['src'], {
    baseDir: root,
    // TypeScript 7 has no compiler API that the cruiser could use: swc it is. `tsc` or nothing here means 0 modules.
    parser: 'swc',
    tsPreCompilationDeps: true,
    detectProcessBuiltinModuleCalls: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mts', '.js', '.mjs', '.json'],
    },
    validate: true,
    ruleSet: { forbidden: [{ name: 'no-circular', severity: 'error', from: {}, to: { circular: true } }] },
  });
  if (typeof output === 'string') throw new Error('architecture: dependency-cruiser answered with text');
  return output;
}

function readSourceFile(root: string, file: string, module: IModule | undefined): SourceFile {
  if (module === undefined) throw new Error(`architecture: dependency-cruiser did not see ${file}`);
  const text = readFileSync(path.join(root, file), 'utf8');
  const imports = module.dependencies.map((dependency) => ({
    specifier:
      dependency.protocol === undefined || dependency.module.includes(':')
        ? dependency.module
        : `${dependency.protocol}${dependency.module}`,
    ...(isOwnFile(dependency.resolved) && !dependency.couldNotResolve ? { file: dependency.resolved } : {}),
    lazy: dependency.dynamic,
  }));
  const seen = new Set(imports.map(({ specifier }) => specifier));
  const written = specifiersOf(text);
  const missed = [...written].find((specifier) => !seen.has(specifier));
  if (missed !== undefined) throw new Error(`architecture: dependency-cruiser missed the import of ${missed} in ${file}`);
  // The map (import-map.ts) is drawn from the text alone.
  const unread = [...seen].find((specifier) => specifier.startsWith('#') && !written.has(specifier));
  if (unread !== undefined) throw new Error(`architecture: the text search missed the import of ${unread} in ${file}`);
  return { file, text, imports };
}

function isOwnFile(resolved: string): boolean {
  return !resolved.includes('node_modules/') && /\.(?:[cm]?[jt]s|json)$/.test(resolved);
}

function withForwardSlashes(file: string): string {
  return file.split(path.sep).join('/');
}
