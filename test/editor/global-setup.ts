import { installBench } from '../../scripts/bench/install.mjs';
import { buildAndPackage } from '../../scripts/lib/package-extension.mjs';

/** `npm test` has done both; on its own (`npm run test:editor`) this makes the suites test what is in the tree now. */
export async function setup(): Promise<void> {
  const bench = await installBench({ browser: true });
  if (!bench.editor || !bench.browser) throw new Error(`the editor bench is not complete: ${bench.skipped.join('; ')}`);
  if (process.env.BANKSMAN_VSIX !== undefined) return;
  const fault = await buildAndPackage();
  if (fault) throw new Error(fault);
}
