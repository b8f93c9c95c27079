import { join } from 'node:path'
import type { ResultImage } from '../core/records.ts'
import type { ToolOutput } from './define-tool.ts'
import { findSnapshot, keepSnapshot } from './snapshots.ts'

type ShownImage = NonNullable<ToolOutput['images']>[number]

/** Keeps an image among a session's outputs, so that its journal only names it. Throws `not-kept`. */
export function keepImage(outputDir: string, { label, mediaType, content }: ShownImage): ResultImage {
  return { name: keepSnapshot(folderOf(outputDir), content), label, mediaType, bytes: content.length }
}

/** A kept image; `undefined` when somebody removed it. */
export function findImage(outputDir: string, { name }: ResultImage): Buffer | undefined {
  return findSnapshot(folderOf(outputDir), name)
}

function folderOf(outputDir: string): string {
  return join(outputDir, 'images')
}
