import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { canSandbox } from './support/bubblewrap.ts';
import { openWorkbench } from './support/workbench.ts';

/** A server of the host; how often somebody connected. */
async function hostServer(address: net.ListenOptions): Promise<{ readonly server: net.Server; count(): number; port(): number }> {
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    socket.end('HOST\n');
  });
  await new Promise<void>((resolve) => server.listen(address, resolve));
  return { server, count: () => connections, port: () => (server.address() as net.AddressInfo).port };
}

const tcp = (port: number) => `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;

describe.skipIf(!canSandbox)('the network of a run', () => {
  it('is none: no host service by TCP or UDP, no name, no other interface', async () => {
    const bench = openWorkbench();
    const host = await hostServer({ port: 0, host: '127.0.0.1' });
    try {
      const result = await bench.run(
        `${tcp(host.port())}; exec 4<>/dev/udp/192.0.2.1/53 && echo udp; getent hosts example.org; ls /sys/class/net; grep -c : /proc/net/dev`,
      );
      expect(result.stdout).not.toMatch(/HOST|udp|example/);
      expect(host.count()).toBe(0);
    } finally {
      host.server.close();
    }
  });

  it.each([
    ['TCP', ': > /dev/tcp/192.0.2.1/80', 1],
    ['UDP', ': > /dev/udp/192.0.2.1/80', 1],
    [
      'IPv6',
      "perl -MSocket=:all -e 'socket(S,AF_INET6,SOCK_STREAM,0); connect(S,pack_sockaddr_in6(80,inet_pton(AF_INET6,q(2001:db8::1))))'",
      1,
    ],
    [
      'IPv6 by UDP',
      "perl -MSocket=:all -e 'socket(S,AF_INET6,SOCK_DGRAM,0); send(S,1,0,pack_sockaddr_in6(80,inet_pton(AF_INET6,q(2001:db8::1))))'",
      1,
    ],
    ['two', ': > /dev/tcp/192.0.2.1/80; : > /dev/tcp/192.0.2.2/80', 2],
    ['a port of loopback on which nobody listens', ': > /dev/tcp/127.0.0.1/9; : > /dev/udp/127.0.0.1/9; : > /dev/tcp/::1/9', 0],
    ['its own name', 'python3 -c "import socket; socket.gethostbyname(socket.gethostname())"', 0],
  ])('is counted where something tried to leave: %s', async (_what, command, tries) => {
    await expect(openWorkbench().run(command)).resolves.toMatchObject({ networkTries: tries });
  });

  it('counts the look-up of a name, and nothing of a run that has the network', async () => {
    const named = await openWorkbench().run('getent hosts example.org');
    expect(named.networkTries).toBeGreaterThan(0);
    await expect(openWorkbench().run(': > /dev/tcp/127.0.0.1/9', { network: true })).resolves.toMatchObject({ networkTries: 0 });
  });

  it('is the host’s where it was granted, for that run only', async () => {
    const bench = openWorkbench();
    const host = await hostServer({ port: 0, host: '127.0.0.1' });
    try {
      await expect(bench.run(tcp(host.port()), { network: true })).resolves.toMatchObject({ stdout: 'HOST\n', sandbox: 'enforced' });
      const after = await bench.run(tcp(host.port()));
      expect(after.stdout).toBe('');
      expect(host.count()).toBe(1);
    } finally {
      host.server.close();
    }
  });

  it('where granted opens nothing else: files, processes, environment, abstract sockets', async () => {
    const bench = openWorkbench({ environment: { ...process.env, SECRET_MARK: 'mark-9' } });
    const name = `banksman-${process.pid}-abstract`;
    const host = await hostServer({ path: `\0${name}` });
    try {
      const abstract = `perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0) or die "none"; connect(S, pack("S",1)."\\0${name}") or die; print <S>'`;
      const result = await bench.run(
        `${abstract}; cat /etc/shadow; echo x > /etc/x; kill -0 ${process.pid} && echo reached; cat /proc/1/environ; ls -A ..`,
        { network: true },
      );
      expect(result.stdout).not.toMatch(/HOST|root:|reached|mark-9|state/);
      expect(host.count()).toBe(0);
    } finally {
      host.server.close();
    }
  });

  it('lets the abstract sockets of its own be used where there is no network', async () => {
    const bench = openWorkbench();
    const script = `use Socket; socket(L,AF_UNIX,SOCK_STREAM,0); $a = pack("S",1)."\\0own"; bind(L,$a); listen(L,1); socket(C,AF_UNIX,SOCK_STREAM,0); connect(C,$a) and print "ok"`;
    await expect(bench.run(`perl -e '${script}'`)).resolves.toMatchObject({ stdout: 'ok' });
  });

  it('never has sockets to a hypervisor, raw packets or the kernel’s crypto', async () => {
    const bench = openWorkbench();
    const script = [40, 17, 38, 44].map((family) => `print "open ${family}" if socket(my $s${family}, ${family}, 1, 0);`).join(' ');
    for (const network of [false, true])
      await expect(bench.run(`perl -e '${script}'`, { network })).resolves.toMatchObject({ stdout: '', exitCode: 0 });
  });
});
