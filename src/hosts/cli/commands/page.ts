/** `banksman page`: the page on which people approve with a passkey, until stopped. For who has no service, which serves it itself. */
import { userInfo } from 'node:os';
import type { Config } from '#app/config/config';
import { addApprover } from '#app/config/config-file';
import { defaultConfigFile } from '#app/config/paths';
import { type ApproverEntry, withApproverControl } from '#app/people/approver-control';
import { Fault, toFault } from '#kernel/errors';
import { type CommandOptions, operands } from '../command-line.ts';
import { printError, printJson, stderrLog } from '../output.ts';
import { approverFileOf, configOf, stateDirOf, withLocalApp } from '../session.ts';

/** The last line on stdout is JSON with the address. */
export async function runPage(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const { config, baseDir } = await configOf(options);
  const { page } = config;
  if (page === undefined) {
    throw new Fault('no_page', 'the configuration names no page', {
      audience: 'operator',
      next: 'add `"page": { "origin": "http://localhost:779" }` to it, or an https name with `certFile` and `keyFile`',
    });
  }
  // Loaded on demand: the other commands start without it.
  const { startPage } = await import('#hosts/page/start-page');
  await withLocalApp(options, async (app, signal) => {
    const isDemo = isDemoOnly(config);
    const served = await startPage({ app, page, baseDir, log: stderrLog, isDemo });
    const offer = isDemo ? offerDemoLink({ config, origin: served.origin, signal }, options) : undefined;
    try {
      const enrol = await offer?.link;
      printJson({ url: `${served.origin}/`, ...(enrol === undefined ? {} : { enrol }) });
      if ('demo' in page) printError('a demo: any user of this machine could take this port and show another page there');
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    } finally {
      await served.close();
      await offer?.ended;
    }
  });
  return 0;
}

/** SECURITY: `demo` alone says that the page's port is anybody's; software passkeys are for where nothing real can be approved, either. */
function isDemoOnly({ page, clusters }: Config): boolean {
  const isHere = (endpoint: string) => /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(new URL(endpoint).hostname);
  return page !== undefined && 'demo' in page && clusters.length > 0 && clusters.every(({ endpoints }) => endpoints.every(isHere));
}

interface DemoLink {
  readonly config: Config;
  readonly origin: string;
  readonly signal: AbortSignal;
}

/** Somebody may look at the demo tomorrow. In ms. */
const demoLinkLifeMs = 86_400_000;

/**
 * The first passkey of the demo, good once, while it runs. It counts without anybody comparing fingerprints: whoever reads this process's output is the
 * one who started it. `link` is undefined where there was a demo's passkey before.
 */
function offerDemoLink(
  { config, origin, signal }: DemoLink,
  options: CommandOptions,
): { readonly link: Promise<string | undefined>; readonly ended: Promise<void> } {
  const configFile = approverFileOf(options);
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const enrolled = withApproverControl({ config, stateDir: stateDirOf(options), configFile, machineFile: defaultConfigFile() }, (control) =>
    control.enroll({
      ...{ name: 'demo', person: userInfo().username, display: 'same-account', origin, signal, lifeMs: demoLinkLifeMs },
      onLink: resolve,
      confirm: async () => true,
    }),
  );
  const ended = enrolled
    .then((made) => leaveToAgree(made, configFile))
    .catch((thrown: unknown) => {
      if (!signal.aborted) printError(`no passkey for the demo: ${toFault(thrown).message}`);
      resolve(undefined);
    });
  return { link: promise, ended };
}

/** Others are pinned already: the new one counts once one of them agrees to it. */
async function leaveToAgree(made: ApproverEntry | undefined, configFile: string): Promise<void> {
  if (made?.pinned !== null || made.passkey === undefined) return;
  const { name, key, person = name, passkey } = made;
  await addApprover(configFile, { name, key, person, passkey });
}
