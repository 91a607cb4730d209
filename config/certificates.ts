/**
 * Whether Node checks certificates, of the service and of Temporal. In a file of its own, so that a command that only asks
 * Temporal does not load the client of the service.
 */
import type { Problem } from '../domain/problems.ts';

/**
 * Node's own switch that accepts any certificate. With it, every machine between us and the service can read and answer
 * everything.
 */
export function uncheckedCertificates(env: NodeJS.ProcessEnv): readonly Problem[] {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0') return [];
  return [
    {
      code: 'TLS_CHECKS_OFF',
      item: null,
      message: 'NODE_TLS_REJECT_UNAUTHORIZED is 0: no certificate is checked.',
      fix: 'Unset it. A certificate authority of your own is named in NODE_EXTRA_CA_CERTS.',
    },
  ];
}
