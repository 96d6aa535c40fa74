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
  return [...faults, ...eagerFaults(bundle, metafile)];
}

/** Of a packed bundle: what is compiled and run whatever it is asked to do. */
function eagerFaults({ name, eager }, { outputs }) {
  if (eager === undefined) return [];
  const reached = new Set();
  const reach = (output) => {
    if (reached.has(output) || outputs[output] === undefined) return;
    reached.add(output);
    for (const { path, kind } of outputs[output].imports) if (kind !== 'dynamic-import') reach(path);
  };
  for (const [output, { entryPoint }] of Object.entries(outputs)) if (eager.entries.includes(entryPoint)) reach(output);
  const inputs = [...reached].flatMap((output) => Object.keys(outputs[output].inputs));
  return inputs
    .filter((input) => !eager.allowed.some((pattern) => pattern.test(input)))
    .map((input) => `${name}: always loads ${input}; import it where it is used, or allow it in scripts/build/bundles.mjs`);
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
