import type { PathFilter } from './path-filter.ts'
import type { LineMatch } from './search-pattern.ts'

/** The folder of a search. `folder` and `workspace` are absolute and real. */
export type SearchPlace = { folder: string; workspace: string; signal: AbortSignal }

/** Paths below the folder, with `/`, newest file first, equal times by path. */
export type FileList = {
  files: string[]
  /** There were more files than a search takes in. */
  incomplete: boolean
}

export type GrepRequest = {
  pattern: string
  /** Files to search. */
  filter: PathFilter
  /** Search this one file of the folder, whatever git thinks of it. */
  only?: string
  /** Lines wanted; one more is returned when there are more. */
  limit: number
  /** Whether a file's lines may be shown, by its path below the folder. */
  mayShow(below: string): boolean
}

export type FileMatches = { below: string; matches: LineMatch[] }

export type GrepResult = {
  /** Newest file first. */
  found: FileMatches[]
  /** Files that were looked at; told when nothing was found. */
  searched?: number
  /** Files with matches that may not be shown. */
  hidden: number
  /** Files too large, and files or folders that could not be read. */
  tooLarge: number
  unreadable: number
  incomplete: boolean
}

/**
 * Looks for files and into them: all that git would not ignore, hidden ones too, `.git` not. Links are not followed, so
 * each real file comes once and loops end; binary files are skipped. Throws `bad-pattern`, `search-too-slow`.
 */
export interface SearchEngine {
  list(place: SearchPlace, filter: PathFilter): Promise<FileList>
  grep(place: SearchPlace, request: GrepRequest): Promise<GrepResult>
}
