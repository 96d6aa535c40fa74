/**
 * undici without `fetch`, WebSockets, mocks, caches and proxies, which its entry loads at once: two thirds of it. A name that is used and is
 * not here is `undefined` in the bundle; the tests of the clients run on the bundle, too.
 * @type {import('esbuild').Plugin}
 */
export const slimUndici = {
  name: 'slim-undici',
  setup(build) {
    build.onResolve({ filter: /^undici$/ }, ({ resolveDir }) => ({ path: 'undici', namespace: 'slim-undici', pluginData: resolveDir }));
    build.onLoad({ filter: /.*/, namespace: 'slim-undici' }, ({ pluginData }) => ({
      contents: `
        exports.Agent = require('undici/lib/dispatcher/agent');
        exports.Client = require('undici/lib/dispatcher/client');
        exports.Pool = require('undici/lib/dispatcher/pool');
        exports.buildConnector = require('undici/lib/core/connect');
        Object.assign(require('undici/lib/dispatcher/dispatcher').prototype, require('undici/lib/api'));
      `,
      resolveDir: pluginData,
    }));
  },
};
