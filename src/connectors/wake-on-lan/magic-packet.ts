/** Wake-on-LAN by a packet of our own (AMD, "Magic Packet Technology", publication 20213). */
import { createSocket } from 'node:dgram';

/** `aa:bb:cc:dd:ee:ff` or with hyphens → 6 × FF, then 16 × the address: 102 bytes. @throws {TypeError} for anything else */
export function magicPacket(mac: string): Buffer {
  const digits = mac.replace(/[:-]/g, '');
  if (!/^[0-9a-fA-F]{12}$/.test(digits)) throw new TypeError(`not a MAC address: \`${mac}\``);
  return Buffer.concat([Buffer.alloc(6, 0xff), ...Array.from({ length: 16 }, () => Buffer.from(digits, 'hex'))]);
}

export interface PacketDestination {
  /** A broadcast (or, in tests, any IPv4) address. */
  readonly address: string;
  readonly port: number;
}

/** Sends one packet; resolves when the operating system took it, which is all that can be known. */
export async function sendMagicPacket(mac: string, { address, port }: PacketDestination): Promise<void> {
  const packet = magicPacket(mac);
  const socket = createSocket('udp4');
  try {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.on('error', reject);
    socket.bind(0, () => {
      socket.setBroadcast(true);
      socket.send(packet, port, address, (error) => (error ? reject(error) : resolve()));
    });
    await promise;
  } finally {
    socket.close();
  }
}
