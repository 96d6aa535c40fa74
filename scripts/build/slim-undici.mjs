/**
 * undici without `fetch`, WebSockets, mocks, caches, proxies and HTTP/2, which its entry loads at once: two thirds of it. A name that is used and is
 * not here is `undefined` in the bundle; the tests of the clients run on the bundle, too.
 * @type {import('esbuild').Plugin}
 */
export const slimUndici = {
  name: 'slim-undici',
  setup(build) {
    // Loading it loads Node's own HTTP/2, in 10 ms. No client of ours allows it, and undici does so only where it is told to.
    build.onResolve({ filter: /\/client-h2\.js$/ }, () => ({ path: 'client-h2', namespace: 'no-http2' }));
    build.onLoad({ filter: /.*/, namespace: 'no-http2' }, () => ({
      contents: `module.exports = () => { throw new Error('HTTP/2 is not in this bundle'); };`,
    }));
    // It carries its parser of 72 kB twice and takes the plain one where the one for SIMD throws. What clusters answer is short.
    build.onResolve({ filter: /\/llhttp_simd-wasm\.js$/ }, () => ({ path: 'llhttp-simd', namespace: 'no-simd' }));
    build.onLoad({ filter: /.*/, namespace: 'no-simd' }, () => ({ contents: `throw new Error('not in this bundle');` }));
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
