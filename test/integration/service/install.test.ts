/** `banksman service install|status|uninstall` by root, in a mount namespace of its own: what it writes is gone with the test. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { onTerminal, quoted } from '../cli/terminal.ts';
import { whyNoUsers } from './os-users.ts';

vi.setConfig({ testTimeout: 240_000 });

const bundle = join(import.meta.dirname, '../../../dist/cli.cjs');

/** Copies on write of what it changes, and an empty `/run`: so there is no systemd in there. */
const ownMachine = `exec 2>&1
set -e
mount --make-rprivate /
own=$(mktemp -d); mount -t tmpfs none "$own"
for place in /etc /usr/local /var/lib; do
  name=$(echo "$place" | tr / _); mkdir -p "$own/$name/up" "$own/$name/work"
  mount -t overlay overlay -o "lowerdir=$place,upperdir=$own/$name/up,workdir=$own/$name/work" "$place"
done
mount -t tmpfs -o mode=755 none /run
set +e
`;

const env = { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', CLI: `${process.execPath} ${bundle}` };

function inOwnMachine(script: string): { readonly status: number | null; readonly out: string } {
  const { status, stdout, stderr } = spawnSync('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', `${ownMachine}${script}`], {
    encoding: 'utf8',
    env,
  });
  return { status, out: `${stdout}${stderr}` };
}

const why = whyNoUsers ?? (inOwnMachine('exit 0').status === 0 ? undefined : 'needs overlays in a mount namespace');

describe.skipIf(why !== undefined)(`on a machine without systemd${why === undefined ? '' : ` (${why})`}`, () => {
  it('is installed, again, run, seen, not removed while it runs, removed, again, and purged', () => {
    const { out } = inOwnMachine(`umask 077
useradd --system --user-group agentuser
say() { echo "== $1"; }
say absent; $CLI service uninstall; echo "rc $?"
say stranger; $CLI service install --user nobody-here; echo "rc $?"
say first; $CLI service install --user agentuser; echo "rc $?"
stat -c '%A %U %G %n' /etc/banksman /etc/banksman/config.json /etc/banksman/secrets /var/lib/banksman /usr/local/lib/banksman /usr/local/lib/banksman/cli.cjs /usr/local/bin/banksman
echo '{ "clusters": [], "securityLevel": "strict" }' > /etc/banksman/config.json; chmod 644 /etc/banksman/config.json
say second; banksman service install --user agentuser; echo "rc $?"; cat /etc/banksman/config.json
say idle; banksman service status; echo "rc $?"
banksman service run --user agentuser 2> /run/log & launcher=$!
until grep -q 'the service serves' /run/log || ! kill -0 $launcher; do sleep 0.2; done
say up; banksman service status; echo "rc $?"
install -d -o agentuser /run/home
say client; setpriv --reuid=agentuser --regid=agentuser --clear-groups env HOME=/run/home banksman call get_security_status --json; echo "rc $?"
say refused; banksman service uninstall; echo "rc $?"; banksman service status; echo "rc $?"
kill $launcher; wait $launcher
say stopped; banksman service status; echo "rc $?"
say removed; banksman service uninstall; echo "rc $?"; ls /etc/banksman/config.json /var/lib/banksman/banksman.db; ls -d /usr/local/lib/banksman /usr/local/bin/banksman /run/banksman
say purged; $CLI service uninstall --purge; echo "rc $?"; ls -d /etc/banksman /var/lib/banksman; id banksman
say gone; $CLI service uninstall --purge; echo "rc $?"`);
    const parts = new Map(out.split('== ').map((part) => [part.split('\n')[0] ?? '', part] as const));
    const part = (name: string) => parts.get(name) ?? out;
    expect(part('absent')).toMatch(/nothing of it is kept[\s\S]*rc 0/);
    expect(part('stranger')).toMatch(/there is no user `nobody-here`[\s\S]*rc 1/);
    expect(part('first')).toContain('systemd does not run here: keep `/usr/local/bin/banksman service run --user agentuser` running');
    expect(part('first').split('rc 0\n')[1]?.trim().split('\n')).toEqual([
      'drwxr-xr-x root root /etc/banksman',
      '-rw-r--r-- root root /etc/banksman/config.json',
      'drwxr-x--- root banksman /etc/banksman/secrets',
      'drwx------ banksman banksman /var/lib/banksman',
      'drwxr-xr-x root root /usr/local/lib/banksman',
      '-rw-r--r-- root root /usr/local/lib/banksman/cli.cjs',
      '-rwxr-xr-x root root /usr/local/bin/banksman',
    ]);
    expect(part('second')).toMatch(/rc 0\n\{ "clusters": \[\], "securityLevel": "strict" \}/);
    expect(part('idle')).toMatch(/no socket[\s\S]*rc 1/);
    expect(part('up')).toMatch(/agentuser: version .* answers, level strict, known as agentuser\nrc 0/);
    expect(part('client')).toMatch(/"security_level":"strict"[\s\S]*rc 0/);
    expect(part('refused')).toMatch(/still runs, and listens for agentuser; nothing was removed[\s\S]*rc 1\nagentuser: version .*\nrc 0/);
    expect(part('stopped')).toMatch(/agentuser: .*nobody listens[\s\S]*rc 1/);
    expect(part('removed')).toMatch(
      /\/etc\/banksman and \/var\/lib\/banksman and the user `banksman` are kept[\s\S]*rc 0\n\/etc\/banksman\/config\.json\n\/var/,
    );
    expect(out.match(/cannot access '\/(?:usr\/local\/lib\/banksman|usr\/local\/bin\/banksman|run\/banksman)'/g)).toHaveLength(3);
    expect(part('purged')).toMatch(/with its configuration, its requests, its trail[\s\S]*rc 0/);
    expect(out.match(/cannot access '\/(?:etc|var\/lib)\/banksman'/g)).toHaveLength(2);
    expect(part('gone')).toContain('rc 0');
    expect(existsSync('/etc/banksman')).toBe(false);
  });

  it('root’s first approver, and the passkeys beside, need nobody to agree to them', async () => {
    const script = `${ownMachine}useradd --system --user-group agentuser
$CLI service install --user agentuser > /dev/null
banksman approvers create alice
ls /etc/banksman
banksman config show; banksman doctor | grep -E '^(ok|warning|FAILED) +(approvers|configuration|embedded)'`;
    const typed = 'four unrelated long words\r';
    const { screen } = await onTerminal(
      `unshare --mount --propagation private sh -c ${quoted(script)}`,
      [
        ['not shown', typed],
        ['the same again', typed],
      ],
      { env },
    );
    expect(screen).toMatch(/alice +\S+ +pinned/);
    expect(screen).not.toContain('agreed.json');
    expect(screen).toContain('nothing waits');
    expect(screen).not.toMatch(/FAILED|embedded/);
  });
});
