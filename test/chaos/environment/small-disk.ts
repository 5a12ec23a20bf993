// A disk that can be full: a file system in memory that is made as small as what lies on it, which
// only root may do. Elsewhere the database gets an ordinary directory, and its disk is never full.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Room for the log and for what an hour writes. */
const roomy = 12 * 2 ** 30;
/** The database uses up the rest by itself. */
const spare = 256 * 1024;

export class SmallDisk {
  readonly directory: string;
  readonly canBeFull: boolean;

  private constructor(directory: string, canBeFull: boolean) {
    this.directory = directory;
    this.canBeFull = canBeFull;
  }

  /** @param size in bytes. */
  static make(directory: string, size = roomy): SmallDisk {
    mkdirSync(directory);
    if (process.getuid?.() !== 0) return new SmallDisk(directory, false);
    try {
      mount(directory, `size=${size},mode=0755`, 'tmpfs');
      return new SmallDisk(directory, true);
    } catch {
      return new SmallDisk(directory, false);
    }
  }

  /** @returns whether nothing more fits. */
  fill(): boolean {
    const { blocks, bfree, bsize } = statfsSync(this.directory);
    mount(this.directory, `remount,size=${(blocks - bfree) * bsize + spare}`);
    const probe = join(this.directory, 'probe');
    try {
      writeFileSync(probe, Buffer.alloc(2 * spare, 1));
      return false;
    } catch {
      return true;
    } finally {
      rmSync(probe, { force: true });
    }
  }

  free(): void {
    mount(this.directory, `remount,size=${roomy}`);
  }

  unmount(): void {
    if (this.canBeFull) execFileSync('umount', ['--lazy', this.directory]);
  }
}

function mount(directory: string, options: string, ...source: string[]): void {
  const type = source.length === 0 ? [] : ['-t', 'tmpfs'];
  execFileSync('mount', [...type, '-o', options, ...source, directory], { stdio: 'pipe' });
}
