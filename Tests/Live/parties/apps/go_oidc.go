// https://github.com/coreos/go-oidc/blob/v2/example/userinfo/app.go and idtoken/app.go
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"

	oidc "github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

func main() {
	ctx, id, page := context.Background(), os.Getenv("PARTY_ID"), os.Getenv("PARTY_URL")
	provider, err := oidc.NewProvider(ctx, os.Getenv("PARTY_ISSUER"))
	if err != nil {
		log.Fatal(err)
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: id})
	config := oauth2.Config{
		ClientID: id, ClientSecret: os.Getenv("PARTY_SECRET"), Endpoint: provider.Endpoint(), RedirectURL: page + "/callback",
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, config.AuthCodeURL("s1", oidc.Nonce("n1")), http.StatusFound)
	})
	http.HandleFunc("/callback", func(w http.ResponseWriter, r *http.Request) {
		token, err := config.Exchange(ctx, r.URL.Query().Get("code"))
		if err != nil {
			http.Error(w, r.URL.String()+" "+err.Error(), 500)
			return
		}
		raw, _ := token.Extra("id_token").(string)
		verified, err := verifier.Verify(ctx, raw)
		if err != nil || verified.Nonce != "n1" {
			http.Error(w, fmt.Sprint(err), 500)
			return
		}
		about, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		var claims, more json.RawMessage
		verified.Claims(&claims)
		about.Claims(&more)
		fmt.Fprintf(w, "signed in: %s %s", claims, more)
	})
	address, _ := url.Parse(page)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+address.Port(), nil))
}
