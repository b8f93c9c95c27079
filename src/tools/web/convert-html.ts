import { Parser } from 'htmlparser2'
import { createPace } from '../search/pace.ts'
import { createMarkdownWriter, type MarkdownWriter } from './markdown-writer.ts'

const sliceChars = 32_768
/** Deeper than any page; parsing would take ever longer. */
const maxDepth = 1000

export type HtmlConversion = {
  /** Where the page comes from: links are relative to it. */
  base: URL
  /** Markdown, or text without marks. */
  format: 'markdown' | 'text'
  signal: AbortSignal
}

/** The text of an HTML page, whatever is in it: scripts, styles and forms are left out. Gives way to others meanwhile. */
export async function convertHtml(html: string, { base, format, signal }: HtmlConversion): Promise<string> {
  const writer = createMarkdownWriter({ isPlain: format === 'text', resolve: (address) => resolved(address, base) })
  const pace = createPace(signal)
  const page = createReader(writer)
  for (let at = 0; at < html.length && !page.isTooDeep(); at += sliceChars) {
    page.parser.write(html.slice(at, at + sliceChars))
    await pace.breathe()
  }
  page.parser.end()
  return writer.end()
}

const left = new Set(
  'script style noscript template svg math head title iframe object canvas audio video select datalist'.split(' '),
)

function createReader(writer: MarkdownWriter) {
  let depth = 0
  /** Depth at which a part that is left out began. */
  let skippedAt: number | undefined
  const parser = new Parser({
    onopentag(name, attributes) {
      depth++
      if (skippedAt === undefined && (left.has(name) || isHidden(attributes))) skippedAt = depth
      if (skippedAt === undefined) writer.open(name, attributes)
    },
    ontext(text) {
      if (skippedAt === undefined) writer.text(text)
    },
    onclosetag(name) {
      if (skippedAt === undefined) writer.close(name)
      if (skippedAt === depth) skippedAt = undefined
      depth--
    },
  })
  return { parser, isTooDeep: () => depth > maxDepth }
}

function isHidden({ hidden, style = '', 'aria-hidden': ariaHidden }: Record<string, string>): boolean {
  return hidden !== undefined || ariaHidden === 'true' || /(display\s*:\s*none|visibility\s*:\s*hidden)/i.test(style)
}

function resolved(address: string, base: URL): string | undefined {
  if (address === '' || address.startsWith('#') || !URL.canParse(address, base.href)) return undefined
  const url = new URL(address, base.href)
  return /^(https?|mailto|ftp):$/.test(url.protocol) ? url.href : undefined
}
