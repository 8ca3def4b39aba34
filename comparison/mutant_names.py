import re,pathlib,tomllib,sys,itertools
names={}
for fn in sys.argv[1:]:
    for l in open(fn):
        if l.startswith("#") or not l.strip(): continue
        m,a,b=l.split(); names.setdefault(a.split(".")[-1],[]).append(b)
bad=0
for f in sorted(pathlib.Path("mutants/lists").glob("*.toml")):
    s=f.read_text(); blocks=re.split(r"(?m)^(?=\[\[mutation\]\])",s); out=[blocks[0]]
    for b in blocks[1:]:
        d=tomllib.loads(b)["mutation"][0]; src=pathlib.Path(d["file"]).read_text() if pathlib.Path(d["file"]).exists() else ""
        if src.count(d["old"])!=1:
            words=[w for w in names if re.search(rf"\b{w}\b",d["old"])]; done=False
            for choice in itertools.product(*[names[w]+[w] for w in words]):
                def ren(x):
                    for w,c in zip(words,choice): x=re.sub(rf"\b{w}\b",c,x)
                    return x
                if src.count(ren(d["old"]))==1:
                    nb="\n".join(x if x.startswith(("claim","file","tests")) else ren(x) for x in b.split("\n"))
                    if tomllib.loads(nb)["mutation"][0]["old"]==ren(d["old"]): b=nb; done=True; break
            if not done: bad+=1; print(f.name,d["file"],src.count(d["old"]),repr(d["old"])[:200],words)
        out.append(b)
    f.write_text("".join(out))
print(bad)
