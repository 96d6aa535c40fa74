/** The units: what systemd is told of the service, and of each user's socket. */

interface UnitPlaces {
  readonly programs: string;
  readonly configFile: string;
  readonly stateDir: string;
}

const hardening = `# The page may hold a port below 1024, and nothing else that root may.
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateIPC=yes
RemoveIPC=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
LockPersonality=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
# Not MemoryDenyWriteExecute: V8 writes the code that it runs, and Node ends with it at once.
MemoryMax=1G
TasksMax=256`;

export function serviceUnit({ programs, configFile, stateDir }: UnitPlaces): string {
  return `[Unit]
Description=Banksman: approvals, clusters and the trail of the agents' calls
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${programs}/node ${programs}/cli.cjs service run --config ${configFile} --state ${stateDir}
User=banksman
Group=banksman
Restart=on-failure
RestartSec=2
TimeoutStopSec=20
StateDirectory=banksman
StateDirectoryMode=0700
# A place for sinks that write files; who reads them there is root's to say.
LogsDirectory=banksman
LogsDirectoryMode=0750
# Each file of root's folder is handed over as secret_NAME, readable for this service alone.
LoadCredential=secret:/etc/banksman/secrets
UMask=0077

${hardening}

[Install]
WantedBy=multi-user.target
`;
}

/** One for each user: the file is that user's, and so whoever comes through it is. */
export function socketUnit(sockets: string): string {
  return `[Unit]
Description=Banksman, for %i

[Socket]
ListenStream=${sockets}/%i.sock
SocketUser=%i
SocketMode=0600
DirectoryMode=0755
FileDescriptorName=%i
RemoveOnStop=yes
Service=banksman.service

[Install]
WantedBy=sockets.target
`;
}
