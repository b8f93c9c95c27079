import { createBlockWriter } from './block-writer.ts'
import { createInlineText } from './inline-text.ts'
import { createTableWriter } from './table-writer.ts'

export type WriterOptions = {
  /** Text alone: no marks for headings, links and emphasis. */
  isPlain: boolean
  /** A link's address as it is written; `undefined`: it leads nowhere. */
  resolve(address: string): string | undefined
}

/** Makes Markdown of a page, element by element; whatever their order, it never fails. */
export interface MarkdownWriter {
  open(element: string, attributes: Attributes): void
  text(text: string): void
  close(element: string): void
  /** All that was written. */
  end(): string
}

type Attributes = Record<string, string>

const marks: Readonly<Record<string, string>> = {
  b: '**',
  strong: '**',
  i: '_',
  em: '_',
  del: '~~',
  s: '~~',
  strike: '~~',
  code: '`',
  kbd: '`',
  samp: '`',
  tt: '`',
}
const inline = new Set(
  'a abbr bdi bdo big cite data dfn font img input ins label mark q small span sub sup time u var wbr button'.split(
    ' ',
  ),
)

export function createMarkdownWriter({ isPlain, resolve }: WriterOptions): MarkdownWriter {
  const line = createInlineText()
  const blocks = createBlockWriter(isPlain ? '' : '> ')
  const table = createTableWriter()
  const links: (string | undefined)[] = []
  let heading = ''
  /** Within `pre`: every blank counts. */
  let verbatim: { language: string } | undefined

  const isMarked = () => !isPlain && verbatim === undefined

  function flush(): void {
    if (table.isOpen()) return line.add(' ')
    const text = line.take()
    const block = verbatim ? fenced(text.replace(/^\n/, '').trimEnd(), verbatim.language) : tidy(text)
    if (block !== '') blocks.emit(heading + block)
    heading = ''
  }

  function fenced(text: string, language: string): string {
    if (isPlain || text === '') return text
    let fence = '```'
    while (text.includes(fence)) fence += '`'
    return `${fence}${language}\n${text}\n${fence}`
  }

  function openLink({ href = '' }: Attributes): void {
    const target = resolve(href)
    links.push(target)
    if (target !== undefined && isMarked()) line.addRaw('[')
  }

  function closeLink(): void {
    const target = links.pop()
    if (target !== undefined && isMarked()) line.close('[', `](${target})`)
  }

  function image({ alt = '', src = '' }: Attributes): void {
    const text = alt.replace(/\s+/g, ' ').trim()
    const source = resolve(src)
    if (text !== '') line.add(isMarked() && source !== undefined ? `![${text}](${source})` : text)
  }

  function openBlock(element: string, attributes: Attributes): void {
    flush()
    if (/^h[1-6]$/.test(element)) heading = isPlain ? '' : `${'#'.repeat(Number(element[1]))} `
    else if (element === 'ul') blocks.openList(undefined)
    else if (element === 'ol') blocks.openList(Number.parseInt(attributes.start ?? '1', 10) || 1)
    else if (element === 'li') blocks.openItem()
    else if (element === 'blockquote') blocks.openQuote()
    else if (element === 'pre' && !table.isOpen()) verbatim = { language: languageOf(attributes) }
    else if (element === 'hr' && !table.isOpen() && !isPlain) blocks.emit('---')
  }

  function closeBlock(element: string): void {
    flush()
    if (element === 'pre') verbatim = undefined
    else if (element === 'ul' || element === 'ol') blocks.close('list')
    else if (element === 'li') blocks.close('item')
    else if (element === 'blockquote') blocks.close('quote')
  }

  /** True when the element was part of a table. */
  function inTable(element: string, isOpening: boolean): boolean {
    if (element === 'table' && isOpening && !table.isOpen()) flush()
    const step = table.take(element, isOpening, () => tidy(line.take()).replaceAll('\n', ' '))
    if (step === undefined) return false
    if (step.rows) blocks.emit(step.rows)
    line.add(' ')
    return true
  }

  return {
    open(element, attributes) {
      if (element === 'br') return line.addRaw(table.isOpen() ? ' ' : '\n')
      if (element === 'code' && verbatim !== undefined) verbatim.language ||= languageOf(attributes)
      else if (element === 'a') openLink(attributes)
      else if (element === 'img') image(attributes)
      else if (marks[element]) return void (isMarked() && line.addRaw(marks[element]))
      else if (!inline.has(element) && !inTable(element, true)) openBlock(element, attributes)
    },
    text(text) {
      if (verbatim) line.addRaw(text)
      else line.add(text.replace(/\s+/g, ' '))
    },
    close(element) {
      if (element === 'br' || element === 'img') return
      if (element === 'a') closeLink()
      else if (marks[element]) return void (isMarked() && line.close(marks[element], marks[element]))
      else if (!inline.has(element) && !inTable(element, false)) closeBlock(element)
    },
    end() {
      const rows = table.isOpen() ? table.finish(tidy(line.take())) : undefined
      if (rows) blocks.emit(rows)
      flush()
      return blocks.text()
    },
  }
}

function tidy(text: string): string {
  return text.trim().replace(/ ?\n ?/g, '\n')
}

function languageOf({ class: name = '' }: Attributes): string {
  return /(?:^|\s)(?:language|lang|highlight-source)-([\w+#-]+)/.exec(name)?.[1] ?? ''
}
