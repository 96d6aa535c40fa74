/** The pipeline's parts for one call: with the settings of this moment. */
import type { CallDeps, PipelineDeps } from './deps.ts';

export async function withSettings(deps: PipelineDeps): Promise<CallDeps> {
  const { settings, ...rest } = deps;
  const currentSettings = () => settings();
  return { ...rest, settings: await currentSettings(), currentSettings };
}
