import { isBuiltin } from 'node:module';

/**
 * What is wrong with a finished bundle: a forbidden input, an import that will not be there at run time, or too many bytes.
 * @param {import('./bundles.mjs').Bundle} bundle
 * @param {import('esbuild').Metafile} metafile
 * @param {{ checkSize: boolean }} options
 * @returns {string[]} empty when all is well
 */
export function bundleFaults(bundle, metafile, { checkSize }) {
  const faults = [];
  for (const input of Object.keys(metafile.inputs)) {
    if (bundle.forbidden.some((pattern) => pattern.test(input))) {
      faults.push(`${bundle.name}: holds ${input}, which must not be in it (imported by ${importers(metafile, input)})`);
    }
  }
  const output = metafile.outputs[`dist/${bundle.name}.cjs`];
  if (output === undefined) return [`${bundle.name}: esbuild wrote no dist/${bundle.name}.cjs`];
  for (const { path } of output.imports) {
    if (!isBuiltin(path) && !bundle.external.includes(path)) faults.push(`${bundle.name}: imports ${path}, which is not shipped`);
  }
  if (checkSize && output.bytes > bundle.budget) {
    faults.push(`${bundle.name}: ${output.bytes} bytes are over its budget of ${bundle.budget}; see dist/metafile.json for what is in it`);
  }
  return [...faults, ...loadFaults(bundle, metafile)];
}

/** Of a packed bundle: what its parts bring along, whatever they are asked to do. */
function loadFaults({ name, loads = [] }, { outputs }) {
  return loads.flatMap(({ from, only = [/./], never = [] }) =>
    Object.entries(outputs)
      .filter(([, { entryPoint = '' }]) => from.test(entryPoint))
      .flatMap(([output, { entryPoint }]) =>
        [...loadedWith(output, outputs)]
          .filter((input) => !only.some((pattern) => pattern.test(input)) || never.some((pattern) => pattern.test(input)))
          .map(
            (input) => `${name}: ${entryPoint} always loads ${input}; import it where it is used, or allow it in scripts/build/bundles.mjs`,
          ),
      ),
  );
}

/** The inputs of a chunk and of all that it imports, but not of what it would import later. */
function loadedWith(output, outputs, seen = new Set()) {
  if (seen.has(output) || outputs[output] === undefined) return [];
  seen.add(output);
  const imports = outputs[output].imports.filter(({ kind }) => kind !== 'dynamic-import');
  return [...Object.keys(outputs[output].inputs), ...imports.flatMap((entry) => loadedWith(entry.path, outputs, seen))];
}

/**
 * @param {import('esbuild').Metafile} metafile
 * @param {string} wanted
 */
function importers(metafile, wanted) {
  const names = Object.entries(metafile.inputs)
    .filter(([, input]) => input.imports.some((entry) => entry.path === wanted))
    .map(([name]) => name);
  return names.slice(0, 3).join(', ') || 'nobody';
}
