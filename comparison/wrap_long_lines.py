import subprocess,json,re,sys
out=json.loads(subprocess.run([sys.executable,"-m","ruff","check",".","--select","E501","--output-format","json"],capture_output=True,text=True).stdout)
byfile={}
for d in out: byfile.setdefault(d["filename"],[]).append(d["location"]["row"])
for f,rows in byfile.items():
    L=open(f).read().split("\n")
    for r in sorted(set(rows),reverse=True):
        l=L[r-1]; 
        if re.match(r"\s*(def|from|return|\"|\((?!:))",l) or ">>>" in l: print(f,r,l); continue
        ind=re.match(r"\s*",l).group(0); cut=l.rfind(" ",0,100)
        # a cross reference with spaces stays whole
        L[r-1]=l[:cut].rstrip(); tail=l[cut+1:]
        nxt=L[r] if r<len(L) else ""
        if nxt.startswith(ind) and nxt.strip() and not nxt[len(ind):].startswith(" ") and len(ind+tail+" "+nxt.strip())<=100 and not nxt.strip().startswith(('"""','---','>>>')):
            L[r]=ind+tail+" "+nxt.strip()
        else: L.insert(r,ind+tail)
    open(f,"w").write("\n".join(L))
