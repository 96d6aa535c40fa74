/**
 * Native add-ons stay out: one package for all platforms. ssh2 loads `cpu-features` and its own `sshcrypto.node` inside try/catch
 * and works without them.
 * @type {import('esbuild').Plugin}
 */
export const noNatives = {
  name: 'no-natives',
  setup(build) {
    build.onResolve({ filter: /^cpu-features$|\.node$/ }, ({ path }) => ({ path, namespace: 'no-natives' }));
    build.onLoad({ filter: /.*/, namespace: 'no-natives' }, ({ path }) => ({
      contents: `throw new Error(${JSON.stringify(`${path} is a native add-on and left out on purpose`)});`,
    }));
  },
};
