/** The embedded demo cluster, loaded only when asked for. */

import { startDemoCluster } from '#demo/demo-cluster';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';

export async function startDemo(options: { readonly port: number }) {
  try {
    return await startDemoCluster(options);
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EADDRINUSE') {
      throw new Fault('port_taken', say`port ${options.port} is taken`, {
        next: 'name another with `--port`, or leave it out',
        cause: thrown,
      });
    }
    throw thrown;
  }
}
