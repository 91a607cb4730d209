/** The hash by which the lines of a worker's journal follow each other: the one that writes and the one that verifies use it. */
import { createHash } from 'node:crypto';
import type { AuditDigest } from '../domain/audit.ts';

export const auditDigest: AuditDigest = (text) => createHash('sha256').update(text).digest('hex');
